// Runs the tests that the Pod Security Standards' own package has for a running server: pods and templates that each
// level of each version takes, and that it refuses or warns of.
//
//	podsecurity KUBECONFIG
package main

import (
	"os"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	podsecurity "k8s.io/pod-security-admission/test"
)

func main() {
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	if err != nil {
		panic(err)
	}
	config.QPS, config.Burst = -1, -1
	os.Args = os.Args[:1]
	everything := func(pattern, name string) (bool, error) { return true, nil }
	run := func(t *testing.T) { podsecurity.Run(t, podsecurity.Options{ClientConfig: config}) }
	testing.Main(everything, []testing.InternalTest{{Name: "PodSecurity", F: run}}, nil, nil)
}
