// Writes objects in Kubernetes' protobuf encoding, for comparison: JSON objects come in, one a line, and for each a line
// goes out: the base64 of its protobuf form, a space, and its JSON as Go writes it back. hack/protobuf_digests.py runs
// it.
package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"fmt"
	"os"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

func main() {
	all := scheme.Scheme
	check(apiextensions.AddToScheme(all))
	check(apiregistration.AddToScheme(all))
	reader := json.NewSerializerWithOptions(json.DefaultMetaFactory, all, all, json.SerializerOptions{Strict: true})
	writer := protobuf.NewSerializer(all, all)
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		object, kind, err := reader.Decode(line, nil, nil)
		if err != nil {
			check(fmt.Errorf("%s: %w", line[:min(len(line), 80)], err))
		}
		object.GetObjectKind().SetGroupVersionKind(*kind)
		var written, back bytes.Buffer
		check(writer.Encode(object, &written))
		check(reader.Encode(object, &back))
		fmt.Printf("%s %s", base64.StdEncoding.EncodeToString(written.Bytes()), back.Bytes())
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
