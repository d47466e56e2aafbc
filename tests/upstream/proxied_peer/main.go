// An extension server that answers everything with the same document, and a client that asks as often as it can.
package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const discovery = `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"rate.example.com/v1","resources":[` +
	`{"name":"things","singularName":"thing","namespaced":true,"kind":"Thing","verbs":["get","list"]}]}`

func main() {
	serve := flag.String("serve", "", "address to serve at")
	url := flag.String("url", "", "what to ask for")
	token := flag.String("token", "", "bearer token")
	atOnce := flag.Int("at-once", 1, "connections")
	seconds := flag.Float64("seconds", 3, "how long")
	size := flag.Int("size", 1024, "bytes of an answer")
	flag.Parse()
	if *serve != "" {
		answer(*serve, *size)
		return
	}
	asked, late := ask(*url, *token, *atOnce, time.Duration(*seconds*float64(time.Second)))
	fmt.Printf("{\"requests\": %d, \"slowest_ms\": %.1f}\n", asked, float64(late.Microseconds())/1000)
}

func answer(address string, size int) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		log.Fatal(err)
	}
	template := x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		log.Fatal(err)
	}
	body := bytes.Repeat([]byte("x"), size)
	handler := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/rate.example.com/v1") {
			_, _ = io.WriteString(w, discovery)
			return
		}
		_, _ = w.Write(body)
	}
	server := http.Server{Addr: address, Handler: http.HandlerFunc(handler)}
	server.TLSConfig = &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}},
	}
	log.Fatal(server.ListenAndServeTLS("", ""))
}

func ask(url, token string, atOnce int, during time.Duration) (int64, time.Duration) {
	transport := &http.Transport{
		TLSClientConfig:     &tls.Config{InsecureSkipVerify: true},
		MaxIdleConnsPerHost: atOnce,
	}
	client := http.Client{Transport: transport}
	var asked, slowest atomic.Int64
	one := func(counts bool) {
		request, err := http.NewRequest(http.MethodGet, url, nil)
		if err != nil {
			log.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+token)
		began := time.Now()
		response, err := client.Do(request)
		if err != nil {
			log.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			log.Fatal(response.Status)
		}
		if took := int64(time.Since(began)); counts {
			asked.Add(1)
			for known := slowest.Load(); took > known && !slowest.CompareAndSwap(known, took); {
				known = slowest.Load()
			}
		}
	}
	var done sync.WaitGroup
	ready := make(chan struct{})
	for range atOnce {
		done.Add(1)
		go func() {
			defer done.Done()
			one(false)
			<-ready
			for ends := time.Now().Add(during); time.Now().Before(ends); {
				one(true)
			}
		}()
	}
	close(ready)
	done.Wait()
	return asked.Load(), time.Duration(slowest.Load())
}
