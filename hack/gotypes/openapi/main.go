// Prints the messages in which an OpenAPI document is written as protobuf, out of the published gnostic models, as JSON:
// {"Schema": [["description", 4, "string", ""], ...]}, each field with its JSON name, number, type ("string", "bool", ...
// or a message) and "repeated", "oneof" or "". Run it from hack/gotypes after changing the version there:
//
//	go run ./openapi 2 > ../../gateway/openapi/version2_messages.json
//	go run ./openapi 3 > ../../gateway/openapi/version3_messages.json
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strings"

	version2 "github.com/google/gnostic-models/openapiv2"
	version3 "github.com/google/gnostic-models/openapiv3"
	"google.golang.org/protobuf/reflect/protoreflect"
)

func main() {
	if len(os.Args) != 2 || (os.Args[1] != "2" && os.Args[1] != "3") {
		fmt.Fprintln(os.Stderr, "say 2 or 3")
		os.Exit(1)
	}
	document := version2.File_openapiv2_OpenAPIv2_proto.Messages().ByName("Document")
	if os.Args[1] == "3" {
		document = version3.File_openapiv3_OpenAPIv3_proto.Messages().ByName("Document")
	}
	found := map[string][][4]any{}
	collect(document, found)
	names := []string{}
	for name := range found {
		names = append(names, name)
	}
	sort.Strings(names)
	fmt.Println("{")
	for i, name := range names {
		text, err := json.Marshal(found[name])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		comma := ","
		if i == len(names)-1 {
			comma = ""
		}
		fmt.Printf("%q: %s%s\n", name, text, comma)
	}
	fmt.Println("}")
}

// collect adds a message and all that it leads to.
func collect(message protoreflect.MessageDescriptor, found map[string][][4]any) {
	name := string(message.Name())
	if _, known := found[name]; known {
		return
	}
	found[name] = [][4]any{}
	for i := range message.Fields().Len() {
		field := message.Fields().Get(i)
		kind, how := field.Kind().String(), ""
		if field.Kind() == protoreflect.MessageKind {
			kind = string(field.Message().Name())
			collect(field.Message(), found)
		}
		if field.IsList() {
			how = "repeated"
		} else if field.ContainingOneof() != nil {
			how = "oneof"
		}
		json := field.JSONName()
		if field.Name() == "_ref" {
			json = "$ref"
		}
		found[name] = append(found[name], [4]any{strings.TrimSpace(json), int32(field.Number()), kind, how})
	}
	sort.Slice(found[name], func(i, j int) bool { return found[name][i][1].(int32) < found[name][j][1].(int32) })
}
