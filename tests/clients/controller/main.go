// A controller as operators are made with controller-runtime, and what its users see: a definition with two versions, its
// conversion webhook, which this program serves, a cache, owned objects, status, a finalizer, server-side apply, and
// watches in both versions. It prints what holds, line by line, and fails at what does not.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"
)

func main() {
	kubeconfig := flag.String("server", "", "the kubeconfig of the server")
	namespace := flag.String("namespace", "default", "where to work; it is there")
	group := flag.String("group", "gardens.example.com", "of the definition")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), 240*time.Second)
	defer cancel()
	if err := run(ctx, *kubeconfig, *group, *namespace); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig, group, namespace string) error {
	log.SetLogger(zap.New(zap.WriteTo(os.Stderr)))
	register(scheme.Scheme, group)
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	hooks := envtest.WebhookInstallOptions{}
	if err := hooks.PrepWithoutInstalling(); err != nil {
		return err
	}
	// what it leaves in the temporary directory is for whoever gave that to delete: its files are watched to the end
	installing := envtest.CRDInstallOptions{
		Scheme: scheme.Scheme, CRDs: []*apiextensions.CustomResourceDefinition{definition(group)}, WebhookOptions: hooks,
		MaxTime: 120 * time.Second,
	}
	if _, err := envtest.InstallCRDs(config, installing); err != nil {
		return fmt.Errorf("installing: %w", err)
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Metrics: metrics.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(webhook.Options{
			Host: hooks.LocalServingHost, Port: hooks.LocalServingPort, CertDir: hooks.LocalServingCertDir,
		}),
	})
	if err != nil {
		return err
	}
	if err := build(ctx, manager, group); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	if !manager.GetCache().WaitForCacheSync(ctx) {
		return fmt.Errorf("the cache is not filled: %w", <-ended)
	}
	direct, err := client.NewWithWatch(config, client.Options{})
	if err != nil {
		return err
	}
	seen := &checks{
		direct: direct, cached: manager.GetClient(), cache: manager.GetCache(), group: group, namespace: namespace,
	}
	if err := seen.run(ctx); err != nil {
		return err
	}
	return envtest.UninstallCRDs(config, installing)
}

func build(ctx context.Context, manager ctrl.Manager, group string) error {
	width := func(obj client.Object) []string { return []string{fmt.Sprint(obj.(*GardenV2).Spec.Width)} }
	if err := manager.GetFieldIndexer().IndexField(ctx, &GardenV2{}, "width", width); err != nil {
		return err
	}
	handler := conversion.NewWebhookHandler(manager.GetScheme(), manager.GetConverterRegistry())
	manager.GetWebhookServer().Register("/convert", handler)
	return ctrl.NewControllerManagedBy(manager).For(&GardenV2{}).Owns(&corev1.ConfigMap{}).
		Complete(&reconciler{manager.GetClient(), group})
}
