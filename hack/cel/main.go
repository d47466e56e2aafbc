// Asks kube-apiserver's own CEL packages, so that ours can be compared with them.
//
//	go run . declarations > declarations.json    every function that Kubernetes' environment declares
//	go run . answers < cases.json > answers.json what becomes of expressions: errors, costs, values
//
//	go run . validations < cases.json > answers.json what rules of a schema say of objects
//
// A case of validations is {"schema", "self", "oldSelf"}, its answer a list of [field, message] and of warnings. Any other
// case is {"expression", "schema" (OpenAPI, optional), "self", "oldSelf"}. Without a schema the expression is compiled
// in the bare environment and may have any type; with one it is a validation rule of that schema. An answer has "error"
// (of compilation), or "type", "value" or "failure" (of evaluation), "cost" (spent) and "maxCost" (estimated).
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
	"k8s.io/apiserver/pkg/warning"
)

func main() {
	switch os.Args[1] {
	case "declarations":
		print(declarations())
	case "validations":
		var cases []question
		if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
			panic(err)
		}
		result := []any{}
		for _, one := range cases {
			result = append(result, validation(one))
		}
		print(result)
	case "answers":
		var cases []json.RawMessage
		if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
			panic(err)
		}
		result := []map[string]any{}
		for _, one := range cases {
			result = append(result, answer(one))
		}
		print(result)
	}
}

func print(value any) {
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err)
	}
}

func base() *environment.EnvSet {
	return environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
}

func declarations() any {
	functions := map[string]any{}
	for name, function := range base().NewExpressionsEnv().Functions() {
		overloads := []any{}
		for _, overload := range function.OverloadDecls() {
			arguments := []string{}
			for _, argument := range overload.ArgTypes() {
				arguments = append(arguments, checker.FormatCELType(argument))
			}
			overloads = append(overloads, []any{overload.ID(), overload.IsMemberFunction(), arguments, checker.FormatCELType(overload.ResultType())})
		}
		functions[name] = overloads
	}
	variables := map[string]string{}
	for _, variable := range base().NewExpressionsEnv().Variables() {
		variables[variable.Name()] = checker.FormatCELType(variable.Type())
	}
	return map[string]any{"functions": functions, "variables": variables}
}

type question struct {
	Expression string          `json:"expression"`
	Schema     json.RawMessage `json:"schema"`
	Self       json.RawMessage `json:"self"`
	OldSelf    json.RawMessage `json:"oldSelf"`
	Root       bool            `json:"root"`
	Optional   bool            `json:"optionalOldSelf"`
}

func answer(raw json.RawMessage) map[string]any {
	var asked question
	if err := json.Unmarshal(raw, &asked); err != nil {
		panic(err)
	}
	if asked.Schema == nil {
		return plain(asked.Expression)
	}
	return rule(asked)
}

type sizes struct{}

func (sizes) EstimateSize(checker.AstNode) *checker.SizeEstimate { return nil }
func (sizes) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}

func plain(expression string) map[string]any {
	env := base().NewExpressionsEnv()
	ast, issues := env.Compile(expression)
	if issues != nil {
		return map[string]any{"error": issues.String()}
	}
	result := map[string]any{"type": checker.FormatCELType(ast.OutputType())}
	estimate, err := env.EstimateCost(ast, &library.CostEstimator{SizeEstimator: sizes{}})
	if err == nil {
		result["maxCost"] = number(estimate.Max)
	}
	program, err := env.Program(ast, celgo.CostLimit(celconfig.PerCallLimit))
	if err != nil {
		result["instantiation"] = err.Error()
		return result
	}
	evaluate(result, program, interpreter.EmptyActivation())
	return result
}

func number(cost uint64) any {
	if cost == math.MaxUint64 {
		return -1
	}
	return cost
}

func evaluate(result map[string]any, program celgo.Program, vars interpreter.Activation) {
	value, details, err := program.ContextEval(context.Background(), vars)
	if details != nil && details.ActualCost() != nil {
		result["cost"] = *details.ActualCost()
	}
	if err != nil {
		result["failure"] = err.Error()
	} else {
		result["value"] = native(value)
	}
}

func native(value ref.Val) any {
	switch v := value.(type) {
	case types.Int:
		return fmt.Sprint(int64(v))
	case types.Uint:
		return fmt.Sprint(uint64(v)) + "u"
	case types.Double:
		return map[string]any{"double": fmt.Sprint(float64(v))}
	case types.Bool:
		return bool(v)
	case types.String:
		return map[string]any{"string": string(v)}
	case types.Bytes:
		return map[string]any{"bytes": []byte(v)}
	case types.Null:
		return nil
	case traits.Lister:
		list := []any{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			list = append(list, native(it.Next()))
		}
		return list
	case traits.Mapper:
		pairs := map[string]any{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			text, _ := json.Marshal(native(key))
			pairs[string(text)] = native(v.Get(key))
		}
		return map[string]any{"map": pairs}
	case *types.Optional:
		if v.HasValue() {
			return map[string]any{"optional": native(v.GetValue())}
		}
		return map[string]any{"optional": "none"}
	}
	if text := value.ConvertToType(types.StringType); !types.IsError(text) {
		return map[string]any{value.Type().TypeName(): string(text.(types.String))}
	}
	return map[string]any{value.Type().TypeName(): ""}
}

type activation map[string]any

func (a activation) ResolveName(name string) (any, bool) { v, found := a[name]; return v, found }
func (a activation) Parent() interpreter.Activation      { return nil }

func rule(asked question) map[string]any {
	structural := structuralOf(asked.Schema)
	structural.XValidations = apiextensionsv1.ValidationRules{{Rule: asked.Expression, OptionalOldSelf: &asked.Optional}}
	results, err := schemacel.Compile(structural, model.SchemaDeclType(structural, asked.Root), celconfig.PerCallLimit, base(), schemacel.NewExpressionsEnvLoader())
	if err != nil {
		return map[string]any{"error": err.Error()}
	}
	compiled := results[0]
	if compiled.Error != nil {
		return map[string]any{"error": compiled.Error.Detail}
	}
	result := map[string]any{"maxCost": number(compiled.MaxCost), "maxCardinality": number(compiled.MaxCardinality), "oldSelf": compiled.UsesOldSelf}
	if asked.Self == nil || compiled.Program == nil {
		return result
	}
	if asked.Root {
		structural = model.WithTypeAndObjectMeta(structural)
	}
	vars := activation{"self": schemacel.UnstructuredToVal(parse(asked.Self), structural)}
	if asked.Optional {
		vars["oldSelf"] = types.OptionalNone
	}
	if asked.OldSelf != nil {
		old := schemacel.UnstructuredToVal(parse(asked.OldSelf), structural)
		vars["oldSelf"] = old
		if asked.Optional {
			vars["oldSelf"] = types.OptionalOf(old)
		}
	}
	evaluate(result, compiled.Program, vars)
	return result
}

type warnings struct{ texts []string }

func (w *warnings) AddWarning(agent, text string) { w.texts = append(w.texts, text) }

func validation(asked question) any {
	structural := structuralOf(asked.Schema)
	validator := schemacel.NewValidator(structural, true, celconfig.PerCallLimit)
	self := parse(asked.Self)
	var old any
	options := []schemacel.Option{}
	if asked.OldSelf != nil {
		old = parse(asked.OldSelf)
		options = append(options, schemacel.WithRatcheting(common.NewCorrelatedObject(self, old, &model.Structural{Structural: structural})))
	}
	heard := &warnings{texts: []string{}}
	ctx := warning.WithWarningRecorder(context.Background(), heard)
	found, _ := validator.Validate(ctx, nil, structural, self, old, celconfig.RuntimeCELCostBudget, options...)
	errors := [][2]string{}
	for _, one := range found {
		errors = append(errors, [2]string{one.Field, one.ErrorBody()})
	}
	return map[string]any{"errors": errors, "warnings": heard.texts}
}

func structuralOf(raw json.RawMessage) *schema.Structural {
	var external apiextensionsv1.JSONSchemaProps
	if err := json.Unmarshal(raw, &external); err != nil {
		panic(err)
	}
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&external, &internal, nil); err != nil {
		panic(err)
	}
	structural, err := schema.NewStructural(&internal)
	if err != nil {
		panic(err)
	}
	return structural
}

func parse(raw json.RawMessage) any {
	var value any
	if err := utiljson.Unmarshal(raw, &value); err != nil {
		panic(err)
	}
	return value
}
