package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// checks are what a user of the controller sees.
type checks struct {
	direct           client.WithWatch
	cached           client.Reader
	cache            cache.Cache
	group, namespace string
	inV1, inV2       watch.Interface
}

// until reads a watch up to an object for which something holds.
func until[T client.Object](ctx context.Context, from watch.Interface, about string, holds func(watch.EventType, T) bool) (T, error) {
	var none T
	for {
		select {
		case <-ctx.Done():
			return none, fmt.Errorf("%s: %w", about, ctx.Err())
		case event, open := <-from.ResultChan():
			if !open {
				return none, fmt.Errorf("%s: the watch ended", about)
			}
			found, is := event.Object.(T)
			if !is {
				return none, fmt.Errorf("%s: the watch told of %T: %v", about, event.Object, event.Object)
			}
			if holds(event.Type, found) {
				return found, nil
			}
		}
	}
}

func (c *checks) key() client.ObjectKey { return client.ObjectKey{Namespace: c.namespace, Name: "kew"} }

// hasArea waits until both versions are told of an area; the objects of both.
func (c *checks) hasArea(ctx context.Context, area int64) (*GardenV1, *GardenV2, error) {
	one, err := until(ctx, c.inV1, "v1", func(_ watch.EventType, g *GardenV1) bool { return g.Status.Area == area })
	if err != nil {
		return nil, nil, err
	}
	two, err := until(ctx, c.inV2, "v2", func(_ watch.EventType, g *GardenV2) bool { return g.Status.Area == area })
	if err != nil {
		return nil, nil, err
	}
	if one.ResourceVersion != two.ResourceVersion {
		return nil, nil, fmt.Errorf("v1 is told of %s, v2 of %s", one.ResourceVersion, two.ResourceVersion)
	}
	return one, two, nil
}

func (c *checks) run(ctx context.Context) error {
	var err error
	if c.inV1, err = c.direct.Watch(ctx, &GardenV1List{}, client.InNamespace(c.namespace)); err != nil {
		return err
	}
	defer c.inV1.Stop()
	if c.inV2, err = c.direct.Watch(ctx, &GardenV2List{}, client.InNamespace(c.namespace)); err != nil {
		return err
	}
	defer c.inV2.Stop()
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"reconciled", c.reconciled}, {"restored", c.restored}, {"cached", c.inCache}, {"updated", c.updated},
		{"applied", c.applied}, {"refused", c.refused}, {"ended", c.ended},
	} {
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		fmt.Println(step.name)
	}
	return nil
}

func (c *checks) reconciled(ctx context.Context) error {
	made := &GardenV1{ObjectMeta: metav1.ObjectMeta{Name: "kew", Namespace: c.namespace}}
	made.Spec.Size = "3x4"
	if err := c.direct.Create(ctx, made); err != nil {
		return err
	}
	one, two, err := c.hasArea(ctx, 12)
	if err != nil {
		return err
	}
	if one.Spec.Size != "3x4" || two.Spec != (GardenSpec{3, 4}) || two.Status.ObservedGeneration != 1 || two.Finalizers[0] != finalizer {
		return fmt.Errorf("v1 is %+v, v2 is %+v", one, two)
	}
	told := &corev1.ConfigMap{}
	if err := c.direct.Get(ctx, c.key(), told); err != nil {
		return err
	}
	by := told.ManagedFields[0]
	if told.Data["area"] != "12" || by.Manager != manager || by.Operation != metav1.ManagedFieldsOperationApply {
		return fmt.Errorf("the config map is %+v", told)
	}
	return nil
}

// restored: what the controller owns comes back.
func (c *checks) restored(ctx context.Context) error {
	maps, err := c.direct.Watch(ctx, &corev1.ConfigMapList{}, client.InNamespace(c.namespace), client.MatchingFields{"metadata.name": "kew"})
	if err != nil {
		return err
	}
	defer maps.Stop()
	told := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kew", Namespace: c.namespace}}
	if err := c.direct.Delete(ctx, told); err != nil {
		return err
	}
	if _, err := until(ctx, maps, "gone", func(t watch.EventType, _ *corev1.ConfigMap) bool { return t == watch.Deleted }); err != nil {
		return err
	}
	_, err = until(ctx, maps, "back", func(t watch.EventType, m *corev1.ConfigMap) bool { return t == watch.Added && m.Data["area"] == "12" })
	return err
}

// inCache: the cache has each version, by an index too.
func (c *checks) inCache(ctx context.Context) error {
	if _, err := c.cache.GetInformer(ctx, &GardenV1{}); err != nil {
		return err
	}
	ones, twos := &GardenV1List{}, &GardenV2List{}
	if err := c.cached.List(ctx, ones, client.InNamespace(c.namespace)); err != nil {
		return err
	}
	if err := c.cached.List(ctx, twos, client.InNamespace(c.namespace), client.MatchingFields{"width": "4"}); err != nil {
		return err
	}
	if len(ones.Items) != 1 || ones.Items[0].Spec.Size != "3x4" || len(twos.Items) != 1 || twos.Items[0].Spec.Width != 4 {
		return fmt.Errorf("v1 is %+v, v2 is %+v", ones.Items, twos.Items)
	}
	return nil
}

func (c *checks) updated(ctx context.Context) error {
	garden := &GardenV2{}
	if err := c.direct.Get(ctx, c.key(), garden); err != nil {
		return err
	}
	stale := garden.DeepCopyObject().(*GardenV2)
	garden.Spec.Width = 5
	if err := c.direct.Update(ctx, garden); err != nil {
		return err
	}
	stale.Spec.Width = 6
	if err := c.direct.Update(ctx, stale); !apierrors.IsConflict(err) {
		return fmt.Errorf("a stale update was answered: %v", err)
	}
	one, two, err := c.hasArea(ctx, 15)
	if err == nil && (one.Spec.Size != "3x5" || two.Generation != 2) {
		err = fmt.Errorf("v1 is %+v, v2 is %+v", one, two)
	}
	return err
}

func (c *checks) application(version string, spec map[string]any) *unstructured.Unstructured {
	made := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	made.SetAPIVersion(c.group + "/" + version)
	made.SetKind("Garden")
	made.SetNamespace(c.namespace)
	made.SetName("kew")
	return made
}

// applied: whoever applies owns the fields in the version in which he did; others conflict in any version.
func (c *checks) applied(ctx context.Context) error {
	apply := func(version string, spec map[string]any, options ...client.ApplyOption) error {
		return c.direct.Apply(ctx, client.ApplyConfigurationFromUnstructured(c.application(version, spec)), options...)
	}
	ada, bob := client.FieldOwner("ada"), client.FieldOwner("bob")
	if err := apply("v1", map[string]any{"size": "7x5"}, ada, client.ForceOwnership); err != nil {
		return err
	}
	one, _, err := c.hasArea(ctx, 35)
	if err != nil {
		return err
	}
	owned := false
	for _, entry := range one.ManagedFields {
		if entry.Manager == "ada" {
			owned = entry.APIVersion == c.group+"/v1" && strings.Contains(string(entry.FieldsV1.Raw), `"f:size"`)
		}
	}
	if !owned {
		return fmt.Errorf("the managed fields are %+v", one.ManagedFields)
	}
	if err := apply("v1", map[string]any{"size": "9x9"}, bob); !apierrors.IsConflict(err) || !strings.Contains(err.Error(), `"ada"`) {
		return fmt.Errorf("another's value was answered: %v", err)
	}
	if err := apply("v2", map[string]any{"length": int64(8)}, bob); !apierrors.IsConflict(err) || !strings.Contains(err.Error(), `"ada": .spec.size`) {
		return fmt.Errorf("another's value in another version was answered: %v", err)
	}
	if err := apply("v2", map[string]any{"length": int64(8)}, bob, client.ForceOwnership); err != nil {
		return err
	}
	one, _, err = c.hasArea(ctx, 40)
	if err == nil && one.Spec.Size != "8x5" {
		err = fmt.Errorf("v1 is %+v", one)
	}
	return err
}

// refused: by the schema of the version in which it is asked for, and by the webhook where it can't convert.
func (c *checks) refused(ctx context.Context) error {
	bad := &GardenV2{ObjectMeta: metav1.ObjectMeta{Name: "bad", Namespace: c.namespace}, Spec: GardenSpec{-1, 2}}
	if err := c.direct.Create(ctx, bad); !apierrors.IsInvalid(err) {
		return fmt.Errorf("a negative length was answered: %v", err)
	}
	odd := client.ApplyConfigurationFromUnstructured(c.application("v2", map[string]any{"length": "long"}))
	if err := c.direct.Apply(ctx, odd, client.FieldOwner("eve")); err == nil {
		return errors.New("a length that is no number was taken")
	}
	return nil
}

func (c *checks) ended(ctx context.Context) error {
	garden := &GardenV1{ObjectMeta: metav1.ObjectMeta{Name: "kew", Namespace: c.namespace}}
	if err := c.direct.Delete(ctx, garden); err != nil {
		return err
	}
	is := func(kind watch.EventType) bool { return kind == watch.Deleted }
	one, err := until(ctx, c.inV1, "v1", func(kind watch.EventType, _ *GardenV1) bool { return is(kind) })
	if err != nil {
		return err
	}
	if one.Spec.Size != "8x5" || one.DeletionTimestamp.IsZero() {
		return fmt.Errorf("v1 was told of the end of %+v", one)
	}
	if _, err := until(ctx, c.inV2, "v2", func(kind watch.EventType, _ *GardenV2) bool { return is(kind) }); err != nil {
		return err
	}
	if err := c.direct.Get(ctx, c.key(), &corev1.ConfigMap{}); !apierrors.IsNotFound(err) {
		return fmt.Errorf("the config map is still there: %v", err)
	}
	return nil
}
