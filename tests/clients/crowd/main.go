// Many clients in one process, as controllers in many are: each has a transport of its own and follows some resources by
// informers, as client-go makes them. It prints what that took once all are open, and again whenever it is asked to.
//
// Commands come on standard input, a word a line: "mark" forgets what was counted and answers "marked"; "wait" waits
// until each watch has been opened again since, and reports. Each report is one line of JSON; times in it are seconds of
// the machine's clock.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

const protobuf = "application/vnd.kubernetes.protobuf"

func core(names ...string) []schema.GroupVersionResource {
	return resources("", "v1", names...)
}

func resources(group, version string, names ...string) []schema.GroupVersionResource {
	made := []schema.GroupVersionResource{}
	for _, name := range names {
		made = append(made, schema.GroupVersionResource{Group: group, Version: version, Resource: name})
	}
	return made
}

// followed is what a client follows the first of.
func followed() []schema.GroupVersionResource {
	all := core("pods", "configmaps", "secrets", "services", "serviceaccounts", "nodes", "namespaces", "persistentvolumes",
		"persistentvolumeclaims", "replicationcontrollers", "limitranges", "resourcequotas", "podtemplates")
	all = append(all, resources("apps", "v1", "deployments", "replicasets", "statefulsets", "daemonsets", "controllerrevisions")...)
	all = append(all, resources("batch", "v1", "jobs", "cronjobs")...)
	all = append(all, resources("coordination.k8s.io", "v1", "leases")...)
	all = append(all, resources("networking.k8s.io", "v1", "ingresses", "networkpolicies")...)
	all = append(all, resources("policy", "v1", "poddisruptionbudgets")...)
	all = append(all, resources("rbac.authorization.k8s.io", "v1", "roles", "rolebindings")...)
	all = append(all, resources("storage.k8s.io", "v1", "storageclasses", "csinodes")...)
	all = append(all, resources("discovery.k8s.io", "v1", "endpointslices")...)
	return append(all, resources("scheduling.k8s.io", "v1", "priorityclasses")...)
}

func main() {
	url := flag.String("url", "", "the server's")
	token := flag.String("token", "", "of its administrator")
	clients := flag.Int("clients", 5, "how many")
	count := flag.Int("informers", 30, "how many a client has")
	patience := flag.Duration("patience", 5*time.Minute, "until all must be open")
	flag.Parse()
	klog.SetLogger(logr.Discard()) // reflectors say there what is counted here
	all := followed()
	if *count > len(all) {
		check(fmt.Errorf("there are %d resources", len(all)))
	}
	counted := newCounted(*clients * *count)
	stop, synced := make(chan struct{}), []cache.InformerSynced{}
	for number := range *clients {
		config := &rest.Config{
			Host: *url, BearerToken: *token, QPS: -1,
			TLSClientConfig: rest.TLSClientConfig{Insecure: true},
			ContentConfig:   rest.ContentConfig{ContentType: protobuf, AcceptContentTypes: protobuf},
			Dial:            counted.dialer(number), WrapTransport: counted.wrap,
		}
		factory := informers.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(config), 0)
		for _, resource := range all[:*count] {
			informer, err := factory.ForResource(resource)
			check(err)
			synced = append(synced, informer.Informer().HasSynced)
		}
		factory.Start(stop)
	}
	answer(counted, synced, *patience)
}

func answer(counted *counted, synced []cache.InformerSynced, patience time.Duration) {
	report := func() {
		ended := time.After(patience)
		for !counted.allOpen() || !all(synced) {
			select {
			case <-ended:
				fmt.Fprintln(os.Stderr, "they were not all open in time")
				check(json.NewEncoder(os.Stderr).Encode(counted.report()))
				os.Exit(1)
			case <-time.After(20 * time.Millisecond):
			}
		}
		check(json.NewEncoder(os.Stdout).Encode(counted.report()))
	}
	report()
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		switch lines.Text() {
		case "mark":
			counted.forget()
			fmt.Println("marked")
		case "wait":
			report()
		}
	}
}

func all(synced []cache.InformerSynced) bool {
	for _, each := range synced {
		if !each() {
			return false
		}
	}
	return true
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
