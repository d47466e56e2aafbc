// A client of the Go library's kinds: typed informers (protobuf), metadata informers and a dynamic client.
//
// It prints one JSON object of what it saw, and fails where something is missing. With -pods it waits until that many
// pods are known and says how long each informer took to know them.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

const protobuf = "application/vnd.kubernetes.protobuf"

var (
	pods        = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	configMaps  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	builtin     = []schema.GroupVersionResource{
		pods, configMaps, deployments,
		{Version: "v1", Resource: "nodes"},
		{Version: "v1", Resource: "services"},
		{Version: "v1", Resource: "secrets"},
		{Version: "v1", Resource: "namespaces"},
		{Group: "apps", Version: "v1", Resource: "statefulsets"},
		{Group: "batch", Version: "v1", Resource: "jobs"},
		{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"},
		{Group: "flowcontrol.apiserver.k8s.io", Version: "v1", Resource: "flowschemas"},
	}
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "which server")
	namespace := flag.String("namespace", "default", "where to work")
	count := flag.Int("pods", 0, "measure how long informers take to know this many pods")
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	check(err)
	config.QPS, config.Burst = 1000, 1000
	ctx, cancel := context.WithTimeout(context.Background(), 240*time.Second)
	defer cancel()
	var found map[string]any
	if *count > 0 {
		found = measure(ctx, config, *count)
	} else {
		found = exercise(ctx, config, *namespace)
	}
	check(json.NewEncoder(os.Stdout).Encode(found))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// inProtobuf is the configuration with which Kubernetes' own components ask for typed objects.
func inProtobuf(config *rest.Config) *rest.Config {
	typed := rest.CopyConfig(config)
	typed.ContentType, typed.AcceptContentTypes = protobuf, protobuf
	return typed
}

// measure gives the seconds in which an informer of each sort syncs, the factories made anew each time.
func measure(ctx context.Context, config *rest.Config, count int) map[string]any {
	typed := kubernetes.NewForConfigOrDie(inProtobuf(config))
	found := map[string]any{}
	sorts := map[string]func() cache.SharedIndexInformer{
		"protobuf": func() cache.SharedIndexInformer {
			return informers.NewSharedInformerFactory(typed, 0).Core().V1().Pods().Informer()
		},
		"metadata": func() cache.SharedIndexInformer {
			client := metadata.NewForConfigOrDie(config)
			return metadatainformer.NewSharedInformerFactory(client, 0).ForResource(pods).Informer()
		},
		"dynamic": func() cache.SharedIndexInformer {
			client := dynamic.NewForConfigOrDie(config)
			return dynamicinformer.NewDynamicSharedInformerFactory(client, 0).ForResource(pods).Informer()
		},
	}
	for _, name := range []string{"protobuf", "metadata", "dynamic"} {
		times := []float64{}
		for range 5 {
			once, stop := context.WithCancel(ctx)
			informer := sorts[name]()
			began := time.Now()
			go informer.Run(once.Done())
			if !cache.WaitForCacheSync(once.Done(), informer.HasSynced) || len(informer.GetStore().ListKeys()) != count {
				check(fmt.Errorf("%s: %d pods instead of %d", name, len(informer.GetStore().ListKeys()), count))
			}
			times = append(times, time.Since(began).Seconds())
			stop()
		}
		found[name] = times
	}
	return found
}

// seen counts what an informer was told of.
type seen struct{ added, updated, deleted chan string }

func watch(informer cache.SharedIndexInformer, failed chan<- error) *seen {
	told := &seen{make(chan string, 1000), make(chan string, 1000), make(chan string, 1000)}
	name := func(obj any) string {
		key, _ := cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
		return key
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { told.added <- name(obj) },
		UpdateFunc: func(_, obj any) { told.updated <- name(obj) },
		DeleteFunc: func(obj any) { told.deleted <- name(obj) },
	})
	check(err)
	check(informer.SetWatchErrorHandler(func(_ *cache.Reflector, err error) { failed <- err }))
	return told
}

func (s *seen) await(ctx context.Context, names <-chan string, name, what string) {
	for {
		select {
		case found := <-names:
			if found == name {
				return
			}
		case <-ctx.Done():
			check(fmt.Errorf("no informer was told that %s was %s", name, what))
		}
	}
}

// exercise makes, changes and deletes objects by one client and waits until informers of all three sorts know it.
func exercise(ctx context.Context, config *rest.Config, namespace string) map[string]any {
	typed := kubernetes.NewForConfigOrDie(inProtobuf(config))
	untyped := dynamic.NewForConfigOrDie(config)
	partial := metadata.NewForConfigOrDie(config)
	failed := make(chan error, 1000)
	factory := informers.NewSharedInformerFactory(typed, 0)
	partials := metadatainformer.NewSharedInformerFactory(partial, 0)
	dynamics := dynamicinformer.NewDynamicSharedInformerFactory(untyped, 0)
	told := map[string]*seen{}
	synced := []cache.InformerSynced{}
	for _, resource := range builtin {
		generic, err := factory.ForResource(resource)
		check(err)
		for sort, informer := range map[string]cache.SharedIndexInformer{
			"typed": generic.Informer(), "metadata": partials.ForResource(resource).Informer(), "dynamic": dynamics.ForResource(resource).Informer(),
		} {
			told[sort+" "+resource.Resource] = watch(informer, failed)
			synced = append(synced, informer.HasSynced)
		}
	}
	factory.Start(ctx.Done())
	partials.Start(ctx.Done())
	dynamics.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		select {
		case err := <-failed:
			check(err)
		default:
			check(fmt.Errorf("informers do not sync"))
		}
	}

	each := func(resource string, do func(*seen)) {
		for _, sort := range []string{"typed", "metadata", "dynamic"} {
			do(told[sort+" "+resource])
		}
	}
	key := namespace + "/informed"
	_, err := typed.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "informed", Labels: map[string]string{"a": "b"}},
		Data:       map[string]string{"k": "v"}, BinaryData: map[string][]byte{"b": {0, 1, 255}},
	}, metav1.CreateOptions{})
	check(err)
	each("configmaps", func(s *seen) { s.await(ctx, s.added, key, "added") })

	changed, err := untyped.Resource(configMaps).Namespace(namespace).Get(ctx, "informed", metav1.GetOptions{})
	check(err)
	check(unstructured.SetNestedField(changed.Object, "w", "data", "k"))
	_, err = untyped.Resource(configMaps).Namespace(namespace).Update(ctx, changed, metav1.UpdateOptions{})
	check(err)
	each("configmaps", func(s *seen) { s.await(ctx, s.updated, key, "updated") })
	cached, err := factory.Core().V1().ConfigMaps().Lister().ConfigMaps(namespace).Get("informed")
	check(err)
	if cached.Data["k"] != "w" || len(cached.BinaryData["b"]) != 3 {
		check(fmt.Errorf("the typed informer has %v", cached))
	}

	applied, err := untyped.Resource(deployments).Namespace(namespace).Apply(ctx, "informed", deployment(), metav1.ApplyOptions{FieldManager: "informers"})
	check(err)
	if applied.GetGeneration() != 1 {
		check(fmt.Errorf("generation %d", applied.GetGeneration()))
	}
	each("deployments", func(s *seen) { s.await(ctx, s.added, key, "added") })
	stored, err := typed.AppsV1().Deployments(namespace).Get(ctx, "informed", metav1.GetOptions{})
	check(err)
	var converted appsv1.Deployment
	check(runtime.DefaultUnstructuredConverter.FromUnstructured(applied.Object, &converted))
	if stored.Spec.Template.Spec.Containers[0].Image != converted.Spec.Template.Spec.Containers[0].Image {
		check(fmt.Errorf("the deployment is %v in protobuf and %v in JSON", stored, converted))
	}
	known, err := partial.Resource(deployments).Namespace(namespace).Get(ctx, "informed", metav1.GetOptions{})
	check(err)
	if known.UID != stored.UID {
		check(fmt.Errorf("metadata says %v", known))
	}

	check(partial.Resource(deployments).Namespace(namespace).Delete(ctx, "informed", metav1.DeleteOptions{}))
	check(typed.CoreV1().ConfigMaps(namespace).Delete(ctx, "informed", metav1.DeleteOptions{}))
	each("configmaps", func(s *seen) { s.await(ctx, s.deleted, key, "deleted") })
	each("deployments", func(s *seen) { s.await(ctx, s.deleted, key, "deleted") })
	select {
	case err := <-failed:
		check(fmt.Errorf("a watch failed: %w", err))
	default:
	}
	return map[string]any{"informers": len(synced), "namespaces": len(factory.Core().V1().Namespaces().Informer().GetStore().ListKeys())}
}

func deployment() *unstructured.Unstructured {
	labels := map[string]any{"app": "informed"}
	container := map[string]any{"name": "c", "image": "registry.example/app:1"}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "informed"},
		"spec": map[string]any{
			"replicas": int64(0), "selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels},
				"spec":     map[string]any{"containers": []any{container}},
			},
		},
	}}
}
