// A validating webhook that allows everything after a while, and a client that creates config maps at a rate.
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"flag"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

func main() {
	serve := flag.String("serve", "", "address to serve at")
	authority := flag.String("authority", "", "file for the certificate")
	wait := flag.Duration("wait", 5*time.Millisecond, "until an answer")
	url := flag.String("url", "", "where to create")
	token := flag.String("token", "", "bearer token")
	atOnce := flag.Int("at-once", 64, "connections at the most")
	rate := flag.Float64("rate", 500, "creates a second; 0 for as many as there are answers")
	seconds := flag.Float64("seconds", 3, "how long")
	prefix := flag.String("prefix", "c", "of names")
	flag.Parse()
	if *serve != "" {
		answer(*serve, *authority, *wait)
		return
	}
	took, failed := create(*url, *token, *prefix, *atOnce, *rate, time.Duration(*seconds*float64(time.Second)))
	slices.Sort(took)
	at := func(share float64) float64 { return took[int(share*float64(len(took)-1))].Seconds() * 1000 }
	fmt.Printf("{\"requests\": %d, \"failed\": %d, \"p50\": %.2f, \"p90\": %.2f, \"p99\": %.2f, \"slowest\": %.2f}\n",
		len(took), failed, at(0.5), at(0.9), at(0.99), at(1))
}

func answer(address, file string, wait time.Duration) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		log.Fatal(err)
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	certificate, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		log.Fatal(err)
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
	if err := os.WriteFile(file, block, 0o600); err != nil {
		log.Fatal(err)
	}
	handler := func(w http.ResponseWriter, r *http.Request) {
		var review struct {
			Request struct{ UID string }
		}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			log.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, r.Body)
		time.Sleep(wait)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"%s","allowed":true}}`,
			review.Request.UID)
	}
	server := http.Server{Addr: address, Handler: http.HandlerFunc(handler)}
	server.TLSConfig = &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}},
	}
	log.Fatal(server.ListenAndServeTLS("", ""))
}

// At a rate, a create that has to wait for a connection has begun when it should have: a stall counts as a client has it.
func create(url, token, prefix string, atOnce int, rate float64, during time.Duration) ([]time.Duration, int) {
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: atOnce, MaxConnsPerHost: atOnce,
	}
	client := http.Client{Transport: transport}
	var lock sync.Mutex
	var took []time.Duration
	failed := 0
	one := func(name string, began time.Time) {
		body := fmt.Sprintf(`{"metadata":{"name":"%s"},"data":{"a":"b"}}`, name)
		request, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			log.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+token)
		request.Header.Set("Content-Type", "application/json")
		response, err := client.Do(request)
		made := err == nil && response.StatusCode == http.StatusCreated
		if err == nil {
			_, _ = io.Copy(io.Discard, response.Body)
			response.Body.Close()
		}
		lock.Lock()
		defer lock.Unlock()
		if made {
			took = append(took, time.Since(began))
		} else {
			failed++
		}
	}
	var done sync.WaitGroup
	begun, number := time.Now(), 0
	if rate == 0 {
		for worker := range atOnce {
			done.Go(func() {
				for i := 0; time.Since(begun) < during; i++ {
					one(fmt.Sprintf("%s-%d-%d", prefix, worker, i), time.Now())
				}
			})
		}
	}
	for due := begun; rate > 0 && due.Sub(begun) < during; due = begun.Add(time.Duration(float64(number) / rate * 1e9)) {
		time.Sleep(time.Until(due))
		name := fmt.Sprintf("%s-%d", prefix, number)
		done.Go(func() { one(name, due) })
		number++
	}
	done.Wait()
	return took, failed
}
