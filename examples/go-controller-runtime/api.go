package main

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/conversion"
)

const group = "example.org"

// Teams have two versions: in v1 the members are one text, in v2, which is stored, a list.
type (
	TeamV1 struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata,omitempty"`
		Spec              TeamV1Spec `json:"spec,omitempty"`
		Status            TeamStatus `json:"status,omitempty"`
	}
	TeamV1Spec struct {
		Members string `json:"members,omitempty"`
	}
	TeamV2 struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata,omitempty"`
		Spec              TeamV2Spec `json:"spec,omitempty"`
		Status            TeamStatus `json:"status,omitempty"`
	}
	TeamV2Spec struct {
		Members []string `json:"members,omitempty"`
	}
	TeamStatus struct {
		Members            int32 `json:"members,omitempty"`
		ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	}
	TeamV2List struct {
		metav1.TypeMeta `json:",inline"`
		metav1.ListMeta `json:"metadata,omitempty"`
		Items           []TeamV2 `json:"items"`
	}
)

// Hub: all other versions are converted to and from this one.
func (*TeamV2) Hub() {}

func (t *TeamV1) ConvertTo(hub conversion.Hub) error {
	to := hub.(*TeamV2)
	to.ObjectMeta, to.Status = *t.ObjectMeta.DeepCopy(), t.Status
	to.Spec.Members = strings.Fields(t.Spec.Members)
	return nil
}

func (t *TeamV1) ConvertFrom(hub conversion.Hub) error {
	from := hub.(*TeamV2)
	t.ObjectMeta, t.Status = *from.ObjectMeta.DeepCopy(), from.Status
	t.Spec.Members = strings.Join(from.Spec.Members, " ")
	return nil
}

func (t *TeamV1) DeepCopyObject() runtime.Object {
	made := *t
	made.ObjectMeta = *t.ObjectMeta.DeepCopy()
	return &made
}

func (t *TeamV2) DeepCopyObject() runtime.Object {
	made := *t
	made.ObjectMeta = *t.ObjectMeta.DeepCopy()
	made.Spec.Members = append([]string(nil), t.Spec.Members...)
	return &made
}

func (l *TeamV2List) DeepCopyObject() runtime.Object {
	made := &TeamV2List{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		made.Items = append(made.Items, *l.Items[i].DeepCopyObject().(*TeamV2))
	}
	return made
}

func addToScheme(scheme *runtime.Scheme) {
	v1, v2 := schema.GroupVersion{Group: group, Version: "v1"}, schema.GroupVersion{Group: group, Version: "v2"}
	scheme.AddKnownTypeWithName(v1.WithKind("Team"), &TeamV1{})
	scheme.AddKnownTypeWithName(v2.WithKind("Team"), &TeamV2{})
	scheme.AddKnownTypeWithName(v2.WithKind("TeamList"), &TeamV2List{})
	metav1.AddToGroupVersion(scheme, v1)
	metav1.AddToGroupVersion(scheme, v2)
}
