// A client that writes while the server's etcd answers nothing: many creates at once, and updates and deletes of what is
// its own. Nobody else writes there, so that no create may find its object there already, no update a conflict and no
// delete nothing: that would be its own write, which client-go was told to send again.
//
// It prints "ready" once what it updates and deletes is there, works when it is given a line, and prints what came out.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

type outcomes struct {
	sync.Mutex
	counts map[string]int
	slow   time.Duration
}

func (o *outcomes) add(verb string, began time.Time, err error) {
	name := verb + " done"
	if err != nil {
		name = verb + " " + string(apierrors.ReasonForError(err))
		if apierrors.ReasonForError(err) == metav1.StatusReasonUnknown {
			name = verb + " " + err.Error()
		}
	}
	o.Lock()
	defer o.Unlock()
	o.counts[name]++
	o.slow = max(o.slow, time.Since(began))
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "which server")
	namespace := flag.String("namespace", "default", "where to work")
	creates := flag.Int("creates", 1000, "how many objects to create at once")
	changes := flag.Int("changes", 100, "how many to update, and to delete, at once")
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	check(err)
	config.QPS, config.Burst = -1, 1
	set, err := kubernetes.NewForConfigAndClient(config, patient(config))
	check(err)
	client := set.CoreV1().ConfigMaps(*namespace)
	ctx := context.Background()
	updated, deleted := made(ctx, client, "updated", *changes), made(ctx, client, "deleted", *changes)
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		check(err)
	}
	found := &outcomes{counts: map[string]int{}}
	var group sync.WaitGroup
	try := func(verb string, do func() error) {
		group.Add(1)
		go func() {
			defer group.Done()
			began := time.Now()
			found.add(verb, began, do())
		}()
	}
	for number := range *creates {
		try("create", func() error {
			_, err := client.Create(ctx, named(fmt.Sprintf("created-%d", number)), metav1.CreateOptions{})
			return err
		})
	}
	for number := range *changes {
		try("update", func() error {
			updated[number].Data = map[string]string{"changed": "yes"}
			_, err := client.Update(ctx, updated[number], metav1.UpdateOptions{})
			return err
		})
		try("delete", func() error { return client.Delete(ctx, deleted[number].Name, metav1.DeleteOptions{}) })
	}
	group.Wait()
	check(json.NewEncoder(os.Stdout).Encode(map[string]any{"outcomes": found.counts, "slowest": found.slow.Seconds()}))
}

// patient is as client-go's own, which gives up a handshake after ten seconds: a busy machine makes fewer than the writes
// need that begin at once.
func patient(config *rest.Config) *http.Client {
	secured, err := rest.TLSConfigFor(config)
	check(err)
	transport, err := rest.HTTPWrappersForConfig(config, &http.Transport{TLSClientConfig: secured, MaxIdleConnsPerHost: 25})
	check(err)
	return &http.Client{Transport: transport}
}

func named(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func made(ctx context.Context, client typed.ConfigMapInterface, name string, count int) []*corev1.ConfigMap {
	found := make([]*corev1.ConfigMap, count)
	for number := range found {
		one, err := client.Create(ctx, named(fmt.Sprintf("%s-%d", name, number)), metav1.CreateOptions{})
		check(err)
		found[number] = one
	}
	return found
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
