// A client of the Go library's kind while servers restart: it reads, writes and follows config maps until it is told to
// stop, makes no request again by itself, and prints how many requests failed and which objects its informer has missed.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

const namespace, clients = "default", 4

type report struct {
	sync.Mutex
	Requests int      `json:"requests"`
	Created  int      `json:"created"`
	Missed   int      `json:"missed"`
	Failed   []string `json:"failed"`
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "which servers")
	most := flag.Int("requests", 1<<30, "after how many it stops by itself")
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	check(err)
	config.QPS = -1
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	following, end := context.WithCancel(context.Background())
	defer end()
	informer := informers.NewSharedInformerFactoryWithOptions(kubernetes.NewForConfigOrDie(config), 0,
		informers.WithNamespace(namespace)).Core().V1().ConfigMaps().Informer()
	go informer.Run(following.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		check(ctx.Err())
	}
	fmt.Println("ready")
	told, names, group := &report{Failed: []string{}}, make(chan string, 1<<20), sync.WaitGroup{}
	for range clients {
		group.Go(func() { work(ctx, kubernetes.NewForConfigOrDie(config), told, names, *most) })
	}
	group.Wait()
	close(names)
	deadline := time.Now().Add(60 * time.Second)
	for name := range names {
		for {
			if _, there, _ := informer.GetStore().GetByKey(namespace + "/" + name); there {
				break
			}
			if time.Now().After(deadline) {
				told.Missed++
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	check(json.NewEncoder(os.Stdout).Encode(told))
}

// work asks on until the context is done: of four requests one is a write. A request is carried out to its end.
func work(ctx context.Context, client *kubernetes.Clientset, told *report, names chan<- string, most int) {
	maps := client.CoreV1().ConfigMaps(namespace)
	for count := 1; ctx.Err() == nil; count++ {
		var err error
		var made *corev1.ConfigMap
		if count%4 == 0 {
			made, err = maps.Create(context.Background(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "go-"}}, metav1.CreateOptions{})
		} else {
			_, err = maps.Get(context.Background(), "kube-root-ca.crt", metav1.GetOptions{})
		}
		told.Lock()
		told.Requests++
		if err != nil {
			told.Failed = append(told.Failed, err.Error())
		} else if made != nil {
			told.Created++
			names <- made.Name
		}
		enough := told.Requests >= most
		told.Unlock()
		if enough {
			return
		}
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
