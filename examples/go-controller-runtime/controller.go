package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"
	applymeta "k8s.io/client-go/applyconfigurations/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

const fieldManager = "teams"

// reconciler keeps a roster for each team: a config map that lists its members.
type reconciler struct{ client.Client }

// Reconcile is told that something has changed, and not what. An error has it called again.
func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	team := &TeamV2{}
	if err := r.Get(ctx, request.NamespacedName, team); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !team.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	members := slices.Sorted(slices.Values(team.Spec.Members))
	owner := applymeta.OwnerReference().WithAPIVersion(group + "/v2").WithKind("Team").WithName(team.Name).
		WithUID(team.UID).WithController(true)
	roster := applycore.ConfigMap(team.Name+"-roster", team.Namespace).WithOwnerReferences(owner).
		WithData(map[string]string{"members": strings.Join(members, "\n")})
	if err := r.Apply(ctx, roster, client.FieldOwner(fieldManager), client.ForceOwnership); err != nil {
		return ctrl.Result{}, err
	}
	status := TeamStatus{Members: int32(len(members)), ObservedGeneration: team.Generation}
	if team.Status == status {
		return ctrl.Result{}, nil
	}
	team.Status = status
	return ctrl.Result{}, r.Status().Update(ctx, team)
}

// judge is the validating webhook: the schema cannot say that names are not to come twice.
type judge struct{}

func (judge) ValidateCreate(_ context.Context, team *TeamV2) (admission.Warnings, error) {
	seen := map[string]bool{}
	for _, name := range team.Spec.Members {
		if seen[name] {
			return nil, fmt.Errorf("%s is a member twice", name)
		}
		seen[name] = true
	}
	return nil, nil
}

func (j judge) ValidateUpdate(ctx context.Context, _, team *TeamV2) (admission.Warnings, error) {
	return j.ValidateCreate(ctx, team)
}

func (judge) ValidateDelete(context.Context, *TeamV2) (admission.Warnings, error) { return nil, nil }

// addTo has a manager run the controller and serve the webhooks, that of conversion too.
func addTo(manager ctrl.Manager) error {
	if err := ctrl.NewWebhookManagedBy(manager, &TeamV2{}).WithValidator(judge{}).Complete(); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(manager).For(&TeamV2{}).Owns(&corev1.ConfigMap{}).
		Complete(&reconciler{manager.GetClient()})
}
