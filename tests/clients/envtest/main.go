// A suite of a Go operator's in small: envtest starts etcd and kube-apiserver out of KUBEBUILDER_ASSETS, a manager
// reconciles custom resources, and a user with a certificate may do what it was given.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

const patience = 120 * time.Second // on a busy machine, too

var pond = schema.GroupVersionKind{Group: "envtest.example.com", Version: "v1", Kind: "Pond"}

func definition() *apiextensions.CustomResourceDefinition {
	open := true
	return &apiextensions.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "ponds.envtest.example.com"},
		Spec: apiextensions.CustomResourceDefinitionSpec{
			Group: pond.Group,
			Scope: apiextensions.NamespaceScoped,
			Names: apiextensions.CustomResourceDefinitionNames{Plural: "ponds", Singular: "pond", Kind: "Pond", ListKind: "PondList"},
			Versions: []apiextensions.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Subresources: &apiextensions.CustomResourceSubresources{Status: &apiextensions.CustomResourceSubresourceStatus{}},
				Schema: &apiextensions.CustomResourceValidation{OpenAPIV3Schema: &apiextensions.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: &open,
				}},
			}},
		},
	}
}

// reconciler fills ponds: it says in their status how many fish their spec asks for.
type reconciler struct{ client.Client }

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(pond)
	if err := r.Get(ctx, request.NamespacedName, found); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	fish, _, _ := unstructured.NestedInt64(found.Object, "spec", "fish")
	if err := unstructured.SetNestedField(found.Object, fish, "status", "fish"); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.Status().Update(ctx, found)
}

func run() error {
	log.SetLogger(zap.New(zap.WriteTo(os.Stderr)))
	if len(os.Args) > 1 && os.Args[1] == "options" {
		return options()
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	began := time.Now()
	registerLakes(scheme.Scheme)
	mutating, validating := lakeHooks()
	environment := &envtest.Environment{
		Scheme: scheme.Scheme, CRDs: []*apiextensions.CustomResourceDefinition{definition(), lakeDefinition()},
		WebhookInstallOptions: envtest.WebhookInstallOptions{
			MutatingWebhooks: mutating, ValidatingWebhooks: validating, MaxTime: patience,
		},
		CRDInstallOptions: envtest.CRDInstallOptions{MaxTime: patience},
	}
	controllers := len(os.Args) > 1 && os.Args[1] == "controllers"
	if controllers {
		environment.ControlPlane.GetAPIServer().Configure().Set("controllers", "*")
	}
	config, err := environment.Start()
	if err != nil {
		return fmt.Errorf("starting: %w", err)
	}
	defer func() {
		cancel()
		if err := environment.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stopping:", err)
			os.Exit(1)
		}
	}()
	fmt.Println("started in", time.Since(began).Round(time.Millisecond))
	hooks := environment.WebhookInstallOptions
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  scheme.Scheme,
		Metrics: metrics.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(webhook.Options{
			Host: hooks.LocalServingHost, Port: hooks.LocalServingPort, CertDir: hooks.LocalServingCertDir,
		}),
	})
	if err != nil {
		return err
	}
	if err := serveLakes(manager); err != nil {
		return err
	}
	kind := &unstructured.Unstructured{}
	kind.SetGroupVersionKind(pond)
	if err := ctrl.NewControllerManagedBy(manager).For(kind).Complete(&reconciler{manager.GetClient()}); err != nil {
		return err
	}
	go func() {
		if err := manager.Start(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "manager:", err)
			os.Exit(1)
		}
	}()
	direct, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	if err := isReconciled(ctx, direct); err != nil {
		return err
	}
	if err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		return manager.GetWebhookServer().StartedChecker()(nil) == nil, nil
	}); err != nil {
		return err
	}
	if err := judges(ctx, direct); err != nil {
		return err
	}
	if err := collects(ctx, direct, controllers); err != nil {
		return err
	}
	return mayOnlyRead(ctx, environment, direct)
}

// collects sees that nobody deletes what an owner leaves behind, nor what is in a namespace, unless controllers run.
func collects(ctx context.Context, c client.Client, controllers bool) error {
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner", Namespace: "default"}}
	if err := c.Create(ctx, owner); err != nil {
		return err
	}
	reference := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: "owned", Namespace: "default", OwnerReferences: []metav1.OwnerReference{reference},
	}}
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "left"}}
	for _, made := range []client.Object{owned, space} {
		if err := c.Create(ctx, made); err != nil {
			return err
		}
	}
	for _, gone := range []client.Object{owner, space} {
		if err := c.Delete(ctx, gone); err != nil {
			return err
		}
	}
	there := func(object client.Object) bool {
		return !apierrors.IsNotFound(c.Get(ctx, client.ObjectKeyFromObject(object), object))
	}
	if controllers {
		return wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, patience, true, func(context.Context) (bool, error) {
			return !there(owned) && !there(space), nil
		})
	}
	time.Sleep(2 * time.Second) // with controllers both are gone after a tenth of that
	if !there(owned) || !there(space) || space.Status.Phase != corev1.NamespaceTerminating {
		return fmt.Errorf("something was collected: %v", space.Status)
	}
	return nil
}

func isReconciled(ctx context.Context, c client.Client) error {
	made := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"fish": int64(3)}}}
	made.SetGroupVersionKind(pond)
	made.SetNamespace("default")
	made.SetName("small")
	if err := c.Create(ctx, made); err != nil {
		return fmt.Errorf("creating: %w", err)
	}
	return wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		if err := c.Get(ctx, client.ObjectKeyFromObject(made), made); err != nil {
			return false, err
		}
		fish, _, _ := unstructured.NestedInt64(made.Object, "status", "fish")
		return fish == 3, nil
	})
}

func mayOnlyRead(ctx context.Context, environment *envtest.Environment, admin client.Client) error {
	user, err := environment.AddUser(envtest.User{Name: "alice", Groups: []string{"readers"}}, &rest.Config{})
	if err != nil {
		return fmt.Errorf("adding a user: %w", err)
	}
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list"}}},
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "readers"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "readers"}},
	}
	for _, made := range []client.Object{role, binding} {
		if err := admin.Create(ctx, made); err != nil {
			return err
		}
	}
	alice, err := client.New(user.Config(), client.Options{})
	if err != nil {
		return err
	}
	err = wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		return alice.List(ctx, &corev1.ConfigMapList{}, client.InNamespace("default")) == nil, nil
	})
	if err != nil {
		return fmt.Errorf("alice may not read: %w", err)
	}
	written := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "alices", Namespace: "default"}}
	if err := alice.Create(ctx, written); !apierrors.IsForbidden(err) {
		return fmt.Errorf("alice may write: %v", err)
	}
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("passed")
}
