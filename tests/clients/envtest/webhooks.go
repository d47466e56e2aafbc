// Webhooks as kubebuilder makes them, installed by envtest: of a kind with two versions, one defaults, one validates, and
// one converts.
package main

import (
	"context"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/conversion"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

const lakes = "lakes.example.com"

// Lakes are stored as v1, where the depth has a unit; v2, which webhooks work with, has a number.
type (
	LakeV1 struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata,omitempty"`
		Depth             string `json:"depth,omitempty"`
	}
	LakeV2 struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata,omitempty"`
		Meters            int64 `json:"meters,omitempty"`
	}
)

func (l *LakeV1) DeepCopyObject() runtime.Object {
	made := *l
	made.ObjectMeta = *l.ObjectMeta.DeepCopy()
	return &made
}

func (l *LakeV2) DeepCopyObject() runtime.Object {
	made := *l
	made.ObjectMeta = *l.ObjectMeta.DeepCopy()
	return &made
}

func (l *LakeV2) Hub() {}

func (l *LakeV1) ConvertTo(hub conversion.Hub) error {
	to := hub.(*LakeV2)
	to.ObjectMeta = *l.ObjectMeta.DeepCopy()
	if l.Depth == "" {
		return nil
	}
	_, err := fmt.Sscanf(l.Depth, "%dm", &to.Meters)
	return err
}

func (l *LakeV1) ConvertFrom(hub conversion.Hub) error {
	from := hub.(*LakeV2)
	l.ObjectMeta, l.Depth = *from.ObjectMeta.DeepCopy(), fmt.Sprintf("%dm", from.Meters)
	return nil
}

// keeper defaults and validates.
type keeper struct{}

func (keeper) Default(_ context.Context, lake *LakeV2) error {
	if lake.Meters == 0 {
		lake.Meters = 7
	}
	return nil
}

func (keeper) ValidateCreate(_ context.Context, lake *LakeV2) (admission.Warnings, error) {
	if lake.Meters > 100 {
		return nil, fmt.Errorf("a lake of %d m is a sea", lake.Meters)
	}
	return admission.Warnings{"mind the fish"}, nil
}

func (k keeper) ValidateUpdate(ctx context.Context, _, lake *LakeV2) (admission.Warnings, error) {
	return k.ValidateCreate(ctx, lake)
}

func (keeper) ValidateDelete(_ context.Context, lake *LakeV2) (admission.Warnings, error) {
	if lake.Name == "kept" {
		return nil, fmt.Errorf("this one stays")
	}
	return nil, nil
}

func registerLakes(scheme *runtime.Scheme) {
	for version, kind := range map[string]runtime.Object{"v1": &LakeV1{}, "v2": &LakeV2{}} {
		of := schema.GroupVersion{Group: lakes, Version: version}
		scheme.AddKnownTypeWithName(of.WithKind("Lake"), kind)
		metav1.AddToGroupVersion(scheme, of)
	}
}

func lakeDefinition() *apiextensions.CustomResourceDefinition {
	version := func(name, field, kind string) apiextensions.CustomResourceDefinitionVersion {
		properties := map[string]apiextensions.JSONSchemaProps{field: {Type: kind}}
		return apiextensions.CustomResourceDefinitionVersion{
			Name: name, Served: true, Storage: name == "v1",
			Schema: &apiextensions.CustomResourceValidation{
				OpenAPIV3Schema: &apiextensions.JSONSchemaProps{Type: "object", Properties: properties},
			},
		}
	}
	return &apiextensions.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "lakes." + lakes},
		Spec: apiextensions.CustomResourceDefinitionSpec{
			Group: lakes,
			Scope: apiextensions.NamespaceScoped,
			Names: apiextensions.CustomResourceDefinitionNames{Plural: "lakes", Singular: "lake", Kind: "Lake", ListKind: "LakeList"},
			Versions: []apiextensions.CustomResourceDefinitionVersion{
				version("v1", "depth", "string"), version("v2", "meters", "integer"),
			},
		},
	}
}

// lakeHooks are the configurations that kubebuilder generates of its markers: they name a service, which envtest replaces.
func lakeHooks() ([]*admissionv1.MutatingWebhookConfiguration, []*admissionv1.ValidatingWebhookConfiguration) {
	none, fail := admissionv1.SideEffectClassNone, admissionv1.Fail
	path := func(sort string) admissionv1.WebhookClientConfig {
		of := fmt.Sprintf("/%s-%s-v2-lake", sort, strings.ReplaceAll(lakes, ".", "-"))
		return admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Name: "webhook", Namespace: "system", Path: &of}}
	}
	rules := func(operations ...admissionv1.OperationType) []admissionv1.RuleWithOperations {
		of := admissionv1.Rule{APIGroups: []string{lakes}, APIVersions: []string{"v2"}, Resources: []string{"lakes"}}
		return []admissionv1.RuleWithOperations{{Operations: operations, Rule: of}}
	}
	return []*admissionv1.MutatingWebhookConfiguration{{
			ObjectMeta: metav1.ObjectMeta{Name: "mutating"},
			Webhooks: []admissionv1.MutatingWebhook{{
				Name: "mlake.kb.io", ClientConfig: path("mutate"), Rules: rules("CREATE", "UPDATE"),
				SideEffects: &none, FailurePolicy: &fail, AdmissionReviewVersions: []string{"v1"},
			}},
		}}, []*admissionv1.ValidatingWebhookConfiguration{{
			ObjectMeta: metav1.ObjectMeta{Name: "validating"},
			Webhooks: []admissionv1.ValidatingWebhook{{
				Name: "vlake.kb.io", ClientConfig: path("validate"), Rules: rules("CREATE", "UPDATE", "DELETE"),
				SideEffects: &none, FailurePolicy: &fail, AdmissionReviewVersions: []string{"v1"},
			}},
		}}
}

func serveLakes(manager ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(manager, &LakeV2{}).WithDefaulter(keeper{}).WithValidator(keeper{}).Complete()
}

// judges sees that all three webhooks are asked, whichever version a client speaks.
func judges(ctx context.Context, c client.Client) error {
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, Namespace: "default"} }
	plain := &LakeV1{ObjectMeta: named("plain")}
	if err := c.Create(ctx, plain); err != nil {
		return fmt.Errorf("a lake is refused: %w", err)
	}
	if plain.Depth != "7m" {
		return fmt.Errorf("the default of a lake is %q", plain.Depth)
	}
	other := &LakeV2{}
	if err := c.Get(ctx, client.ObjectKeyFromObject(plain), other); err != nil || other.Meters != 7 {
		return fmt.Errorf("a lake in the other version has %d m: %w", other.Meters, err)
	}
	said := `admission webhook "vlake.kb.io" denied the request: `
	refused := func(err error, why string) error {
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), said+why) {
			return fmt.Errorf("not refused because %s: %w", why, err)
		}
		return nil
	}
	if err := refused(c.Create(ctx, &LakeV1{ObjectMeta: named("deep"), Depth: "101m"}), "a lake of 101 m is a sea"); err != nil {
		return err
	}
	other.Meters = 102
	if err := refused(c.Update(ctx, other), "a lake of 102 m is a sea"); err != nil {
		return err
	}
	kept := &LakeV2{ObjectMeta: named("kept"), Meters: 3}
	if err := c.Create(ctx, kept); err != nil {
		return err
	}
	if err := refused(c.Delete(ctx, kept), "this one stays"); err != nil {
		return err
	}
	return c.Delete(ctx, plain)
}
