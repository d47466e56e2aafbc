package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"
	applymeta "k8s.io/client-go/applyconfigurations/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

const (
	finalizer = "gardens.example.com/tidy"
	manager   = "garden-controller"
)

// reconciler tells in a config map and in the status how large a garden is, and tidies up when it goes.
type reconciler struct {
	client.Client
	group string
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	garden := &GardenV2{}
	if err := r.Get(ctx, request.NamespacedName, garden); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !garden.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.tidy(ctx, garden)
	}
	if before := garden.DeepCopyObject().(*GardenV2); controllerutil.AddFinalizer(garden, finalizer) {
		if err := r.Patch(ctx, garden, client.MergeFrom(before)); err != nil {
			return ctrl.Result{}, err
		}
	}
	area := garden.Spec.Length * garden.Spec.Width
	owner := applymeta.OwnerReference().WithAPIVersion(r.group + "/v2").WithKind("Garden").WithName(garden.Name).
		WithUID(garden.UID).WithController(true)
	told := applycore.ConfigMap(garden.Name, garden.Namespace).WithOwnerReferences(owner).
		WithData(map[string]string{"area": fmt.Sprint(area)})
	if err := r.Apply(ctx, told, client.FieldOwner(manager), client.ForceOwnership); err != nil {
		return ctrl.Result{}, err
	}
	if garden.Status.Area == area && garden.Status.ObservedGeneration == garden.Generation {
		return ctrl.Result{}, nil
	}
	garden.Status = GardenStatus{Area: area, ObservedGeneration: garden.Generation}
	err := r.Status().Update(ctx, garden)
	if apierrors.IsConflict(err) {
		return ctrl.Result{Requeue: true}, nil
	}
	return ctrl.Result{}, err
}

func (r *reconciler) tidy(ctx context.Context, garden *GardenV2) error {
	told := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: garden.Name, Namespace: garden.Namespace}}
	if err := client.IgnoreNotFound(r.Delete(ctx, told)); err != nil {
		return err
	}
	before := garden.DeepCopyObject().(*GardenV2)
	if !controllerutil.RemoveFinalizer(garden, finalizer) {
		return nil
	}
	return client.IgnoreNotFound(r.Patch(ctx, garden, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
}
