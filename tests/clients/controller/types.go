package main

import (
	"fmt"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/conversion"
)

// Gardens are stored as v1, where their size is one text; v2 has two numbers, and is what the controller works with.
type (
	GardenV1 struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata,omitempty"`
		Spec              struct {
			Size string `json:"size,omitempty"`
		} `json:"spec,omitempty"`
		Status GardenStatus `json:"status,omitempty"`
	}
	GardenV1List struct {
		metav1.TypeMeta `json:",inline"`
		metav1.ListMeta `json:"metadata,omitempty"`
		Items           []GardenV1 `json:"items"`
	}
	GardenV2 struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata,omitempty"`
		Spec              GardenSpec   `json:"spec,omitempty"`
		Status            GardenStatus `json:"status,omitempty"`
	}
	GardenV2List struct {
		metav1.TypeMeta `json:",inline"`
		metav1.ListMeta `json:"metadata,omitempty"`
		Items           []GardenV2 `json:"items"`
	}
	GardenSpec struct {
		Length int64 `json:"length"`
		Width  int64 `json:"width"`
	}
	GardenStatus struct {
		Area               int64 `json:"area,omitempty"`
		ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	}
)

func (g *GardenV2) Hub() {}

func (g *GardenV1) ConvertTo(hub conversion.Hub) error {
	to := hub.(*GardenV2)
	to.ObjectMeta, to.Status = *g.ObjectMeta.DeepCopy(), g.Status
	if g.Spec.Size == "" {
		return nil
	}
	if _, err := fmt.Sscanf(g.Spec.Size, "%dx%d", &to.Spec.Length, &to.Spec.Width); err != nil {
		return fmt.Errorf("the size %q is not one: %w", g.Spec.Size, err)
	}
	return nil
}

func (g *GardenV1) ConvertFrom(hub conversion.Hub) error {
	from := hub.(*GardenV2)
	g.ObjectMeta, g.Status = *from.ObjectMeta.DeepCopy(), from.Status
	g.Spec.Size = fmt.Sprintf("%dx%d", from.Spec.Length, from.Spec.Width)
	return nil
}

func (g *GardenV1) DeepCopyObject() runtime.Object {
	made := *g
	made.ObjectMeta = *g.ObjectMeta.DeepCopy()
	return &made
}

func (g *GardenV2) DeepCopyObject() runtime.Object {
	made := *g
	made.ObjectMeta = *g.ObjectMeta.DeepCopy()
	return &made
}

func (l *GardenV1List) DeepCopyObject() runtime.Object {
	made := &GardenV1List{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		made.Items = append(made.Items, *l.Items[i].DeepCopyObject().(*GardenV1))
	}
	return made
}

func (l *GardenV2List) DeepCopyObject() runtime.Object {
	made := &GardenV2List{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		made.Items = append(made.Items, *l.Items[i].DeepCopyObject().(*GardenV2))
	}
	return made
}

func register(scheme *runtime.Scheme, group string) {
	v1, v2 := schema.GroupVersion{Group: group, Version: "v1"}, schema.GroupVersion{Group: group, Version: "v2"}
	scheme.AddKnownTypeWithName(v1.WithKind("Garden"), &GardenV1{})
	scheme.AddKnownTypeWithName(v1.WithKind("GardenList"), &GardenV1List{})
	scheme.AddKnownTypeWithName(v2.WithKind("Garden"), &GardenV2{})
	scheme.AddKnownTypeWithName(v2.WithKind("GardenList"), &GardenV2List{})
	metav1.AddToGroupVersion(scheme, v1)
	metav1.AddToGroupVersion(scheme, v2)
}

type schemas = map[string]apiextensions.JSONSchemaProps

func definition(group string) *apiextensions.CustomResourceDefinition {
	zero := 0.0
	number := apiextensions.JSONSchemaProps{Type: "integer", Format: "int64", Minimum: &zero}
	status := apiextensions.JSONSchemaProps{
		Type: "object", Properties: schemas{"area": number, "observedGeneration": number},
	}
	version := func(name string, spec schemas) apiextensions.CustomResourceDefinitionVersion {
		of := apiextensions.JSONSchemaProps{Type: "object", Properties: spec}
		return apiextensions.CustomResourceDefinitionVersion{
			Name: name, Served: true, Storage: name == "v1",
			Subresources: &apiextensions.CustomResourceSubresources{Status: &apiextensions.CustomResourceSubresourceStatus{}},
			Schema: &apiextensions.CustomResourceValidation{OpenAPIV3Schema: &apiextensions.JSONSchemaProps{
				Type: "object", Properties: schemas{"spec": of, "status": status},
			}},
		}
	}
	return &apiextensions.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "gardens." + group},
		Spec: apiextensions.CustomResourceDefinitionSpec{
			Group: group,
			Scope: apiextensions.NamespaceScoped,
			Names: apiextensions.CustomResourceDefinitionNames{
				Plural: "gardens", Singular: "garden", Kind: "Garden", ListKind: "GardenList",
			},
			Versions: []apiextensions.CustomResourceDefinitionVersion{
				version("v1", schemas{"size": {Type: "string"}}),
				version("v2", schemas{"length": number, "width": number}),
			},
		},
	}
}
