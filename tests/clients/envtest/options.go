package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// options sees that what a suite says of its control plane is done: ports, directories, outputs, flags.
func options() error {
	place, err := os.MkdirTemp("", "envtest-options-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(place)
	certificates, data := filepath.Join(place, "certificates"), filepath.Join(place, "data")
	for _, directory := range []string{certificates, data} {
		if err := os.Mkdir(directory, 0o700); err != nil {
			return err
		}
	}
	ports := freePorts(2)
	var said, etcdSaid bytes.Buffer
	environment := &envtest.Environment{Scheme: scheme.Scheme}
	server := environment.ControlPlane.GetAPIServer()
	server.CertDir, server.Out, server.Err = certificates, &said, &said
	server.SecureServing.Address, server.SecureServing.Port = "127.0.0.1", ports[0]
	server.Configure().Set("service-cluster-ip-range", "10.9.0.0/16").Append("feature-gates", "CBORServingAndStorage=true").
		Disable("allow-privileged")
	environment.ControlPlane.Etcd = &envtest.Etcd{
		URL:     &url.URL{Scheme: "http", Host: net.JoinHostPort("127.0.0.1", ports[1])},
		DataDir: data, Out: &etcdSaid, Err: &etcdSaid,
	}
	environment.ControlPlane.Etcd.Configure().Set("snapshot-count", "5000")
	config, err := environment.Start()
	if err != nil {
		return fmt.Errorf("starting: %w: %s", err, said.String())
	}
	wrong := judged(environment, config.Host, ports, certificates, data)
	if err := environment.Stop(); err != nil {
		return fmt.Errorf("stopping: %w", err)
	}
	if wrong == nil && (said.Len() == 0 || etcdSaid.Len() == 0) {
		return fmt.Errorf("the server said %d bytes, etcd %d", said.Len(), etcdSaid.Len())
	}
	return wrong
}

func judged(environment *envtest.Environment, host string, ports []string, certificates, data string) error {
	if !strings.Contains(host, net.JoinHostPort("127.0.0.1", ports[0])) {
		return fmt.Errorf("it is at %s", host)
	}
	for _, file := range []string{filepath.Join(certificates, "apiserver.crt"), filepath.Join(data, "member")} {
		if _, err := os.Stat(file); err != nil {
			return err
		}
	}
	if connection, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", ports[1])); err != nil {
		return err
	} else {
		connection.Close()
	}
	direct, err := client.New(environment.Config, client.Options{})
	if err != nil {
		return err
	}
	service := &corev1.Service{}
	if err := direct.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: "kubernetes"}, service); err != nil {
		return err
	}
	if service.Spec.ClusterIP != "10.9.0.1" {
		return fmt.Errorf("the service has %s", service.Spec.ClusterIP)
	}
	return nil
}

// freePorts are below those that the kernel gives to whoever connects or asks for any, as tests/ports.py has it.
func freePorts(number int) []string {
	found := make([]string, 0, number)
	for len(found) < number {
		port := strconv.Itoa(12_000 + rand.IntN(17_000))
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port))
		if err != nil {
			continue
		}
		defer listener.Close()
		found = append(found, port)
	}
	return found
}
