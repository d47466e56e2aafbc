// Prints facts about the Go types of Kubernetes' stable API versions, and of the kinds in `onDemand`, as JSON: what
// OpenAPI does not say and a server needs to decode, encode and describe objects as kube-apiserver does (Go type names
// in error messages, which zero values are written, protobuf field numbers, patch tags).
//
// Run it from this folder after changing the module versions in go.mod:
//
//	go run . > ../gotypes.json
//
// Output: {"types": {NAME: TYPE}}. NAME is the OpenAPI definition name. TYPE is {"go": name in error messages, then one
// of "fields": struct fields in Go order with inlined ones flattened, "is": the type it is defined as, or neither for
// types with their own JSON form}. A field is [JSON name, Go name, type, omit ("", "empty" or "zero"), protobuf number,
// patch strategy, patch merge key, embedded structs it comes from ("Outer:2.Inner:1": Go name and protobuf number)];
// trailing empty values are left out.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"sort"
	"strconv"
	"strings"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

type goType struct {
	Go     string  `json:"go"`
	Is     string  `json:"is,omitempty"`
	Fields [][]any `json:"fields,omitzero"`
}

var (
	unmarshaler = reflect.TypeFor[json.Unmarshaler]()
	stable      = regexp.MustCompile(`^v[0-9]+$`)
	found       = map[string]*goType{}
)

// name gives the OpenAPI definition name of a named type: "io.k8s.api.core.v1.Pod".
func name(t reflect.Type) string {
	host, path, _ := strings.Cut(t.PkgPath(), "/")
	labels := strings.Split(host, ".")
	for i, j := 0, len(labels)-1; i < j; i, j = i+1, j-1 {
		labels[i], labels[j] = labels[j], labels[i]
	}
	return strings.Join(labels, ".") + "." + strings.ReplaceAll(path, "/", ".") + "." + t.Name()
}

// expression writes a type with full names and records the named types in it.
func expression(t reflect.Type) string {
	if t.PkgPath() != "" {
		record(t)
		return name(t)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + expression(t.Elem())
	case reflect.Slice:
		return "[]" + expression(t.Elem())
	case reflect.Map:
		return "map[" + expression(t.Key()) + "]" + expression(t.Elem())
	}
	return t.String()
}

func record(t reflect.Type) {
	if _, done := found[name(t)]; done {
		return
	}
	entry := &goType{Go: t.String()}
	found[name(t)] = entry
	if reflect.PointerTo(t).Implements(unmarshaler) {
		if t == reflect.TypeFor[apiextensions.JSONSchemaPropsOrBool]() {
			record(reflect.TypeFor[apiextensions.JSONSchemaProps]())
		}
		return
	}
	switch t.Kind() {
	case reflect.Struct:
		entry.Fields = append([][]any{}, fields(t, nil)...) // a struct without fields has an empty list
	case reflect.Map:
		entry.Is = "map[" + expression(t.Key()) + "]" + expression(t.Elem())
	case reflect.Slice:
		entry.Is = "[]" + expression(t.Elem())
	default:
		entry.Is = t.Kind().String()
	}
}

func fields(t reflect.Type, embedded []string) [][]any {
	var result [][]any
	for i := range t.NumField() {
		field := t.Field(i)
		tag := strings.Split(field.Tag.Get("json"), ",")
		if tag[0] == "-" || !field.IsExported() {
			continue
		}
		inner := field.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if field.Anonymous && tag[0] == "" && inner.Kind() == reflect.Struct {
			step := field.Name
			if number := protobufNumber(field); number > 0 {
				step += ":" + strconv.Itoa(number)
			}
			result = append(result, fields(inner, append(append([]string{}, embedded...), step))...)
			continue
		}
		if tag[0] == "" {
			tag[0] = field.Name
		}
		omit := ""
		for _, option := range tag[1:] {
			if option == "omitempty" && omit == "" {
				omit = "empty"
			}
			if option == "omitzero" {
				omit = "zero"
			}
		}
		entry := []any{tag[0], field.Name, expression(field.Type), omit, protobufNumber(field),
			field.Tag.Get("patchStrategy"), field.Tag.Get("patchMergeKey"), strings.Join(embedded, ".")}
		for len(entry) > 3 && (entry[len(entry)-1] == "" || entry[len(entry)-1] == 0) {
			entry = entry[:len(entry)-1]
		}
		result = append(result, entry)
	}
	return result
}

func protobufNumber(field reflect.StructField) int {
	if parts := strings.Split(field.Tag.Get("protobuf"), ","); len(parts) > 1 {
		if number, err := strconv.Atoi(parts[1]); err == nil {
			return number
		}
	}
	return 0
}

func main() {
	all := runtime.NewScheme()
	for _, install := range []func(*runtime.Scheme) error{scheme.AddToScheme, apidiscovery.AddToScheme, apiextensions.AddToScheme,
		apiregistration.AddToScheme} {
		if err := install(all); err != nil {
			panic(err)
		}
	}
	metav1.AddMetaToScheme(all)
	metav1.AddToGroupVersion(all, schema.GroupVersion{Version: "v1"})
	for _, also := range []reflect.Type{reflect.TypeFor[metav1.APIVersions](), reflect.TypeFor[metav1.Table]()} {
		record(also)
	}
	for kind, t := range all.AllKnownTypes() {
		if (stable.MatchString(kind.Version) || isOnDemand(kind)) && !strings.HasPrefix(t.PkgPath(), "k8s.io/apimachinery/pkg/apis/meta/internalversion") {
			record(t)
		}
	}
	print()
}

// onDemand has the version of each kind that has no stable one.
var onDemand = map[string]string{
	"coordination.k8s.io/LeaseCandidate": "v1beta1",
}

func isOnDemand(kind schema.GroupVersionKind) bool {
	return onDemand[kind.Group+"/"+strings.TrimSuffix(kind.Kind, "List")] == kind.Version
}

// print writes one type a line, so that changes between versions read well.
func print() {
	names := make([]string, 0, len(found))
	for each := range found {
		names = append(names, each)
	}
	sort.Strings(names)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	fmt.Fprintln(out, `{"types": {`)
	for i, each := range names {
		text, err := json.Marshal(found[each])
		if err != nil {
			panic(err)
		}
		comma := ","
		if i == len(names)-1 {
			comma = ""
		}
		fmt.Fprintf(out, "%q: %s%s\n", each, text, comma)
	}
	fmt.Fprintln(out, "}}")
}
