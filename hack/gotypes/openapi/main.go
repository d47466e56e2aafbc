// Prints the field numbers of the messages in which an OpenAPI v2 document is written as protobuf, out of the published
// gnostic models, as JSON: {"Schema": {"description": 4}}. Run it from hack/gotypes after changing the version there:
//
//	go run ./openapi > ../../gateway/openapi/version2_messages.json
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"sort"

	openapi "github.com/google/gnostic-models/openapiv2"
	"google.golang.org/protobuf/reflect/protoreflect"
)

var wanted = []string{
	"AdditionalPropertiesItem", "Any", "Definitions", "Document", "Info", "ItemsItem", "NamedAny", "NamedSchema",
	"Properties", "Schema", "TypeItem",
}

func main() {
	sort.Strings(wanted)
	fmt.Println("{")
	for i, name := range wanted {
		numbers := map[string]int32{}
		fields := openapi.File_openapiv2_OpenAPIv2_proto.Messages().ByName(protoreflect.Name(name)).Fields()
		for j := range fields.Len() {
			numbers[string(fields.Get(j).Name())] = int32(fields.Get(j).Number())
		}
		text, err := json.Marshal(numbers)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		comma := ","
		if i == len(wanted)-1 {
			comma = ""
		}
		fmt.Printf("%q: %s%s\n", name, text, comma)
	}
	fmt.Println("}")
}
