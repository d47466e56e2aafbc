package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

const patience = 30 * time.Second

var (
	direct client.Client // without a cache
	api    *testingAPI
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// run has envtest start a gateway with the definition and the webhooks, and the operator beside the tests.
func run(m *testing.M) (code int, err error) {
	log.SetLogger(zap.New(zap.WriteTo(os.Stderr)))
	addToScheme(scheme.Scheme)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	environment := &envtest.Environment{
		Scheme:                scheme.Scheme,
		CRDDirectoryPaths:     []string{"config/crd.yaml"},
		WebhookInstallOptions: envtest.WebhookInstallOptions{Paths: []string{"config/webhook.yaml"}},
	}
	environment.ControlPlane.GetAPIServer().Configure().Set("testing-api", "true").Set("controllers", "*")
	config, err := environment.Start()
	if err != nil {
		return 1, err
	}
	defer func() {
		cancel()
		if stopped := environment.Stop(); err == nil {
			err = stopped
		}
	}()
	hooks := environment.WebhookInstallOptions
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  scheme.Scheme,
		Metrics: metrics.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(webhook.Options{
			Host: hooks.LocalServingHost, Port: hooks.LocalServingPort, CertDir: hooks.LocalServingCertDir,
		}),
	})
	if err != nil {
		return 1, err
	}
	if err := addTo(manager); err != nil {
		return 1, err
	}
	go func() {
		if err := manager.Start(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "the operator:", err)
			os.Exit(1)
		}
	}()
	if err := poll(func() bool { return manager.GetWebhookServer().StartedChecker()(nil) == nil }); err != nil {
		return 1, err
	}
	if direct, err = client.New(config, client.Options{Scheme: scheme.Scheme}); err != nil {
		return 1, err
	}
	if api, err = newTestingAPI(config); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

func poll(holds func() bool) error {
	return wait.PollUntilContextTimeout(context.Background(), 20*time.Millisecond, patience, true,
		func(context.Context) (bool, error) { return holds(), nil })
}

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, Namespace: "default"} }

func create(t *testing.T, name string, members ...string) *TeamV2 {
	t.Helper()
	team := &TeamV2{ObjectMeta: named(name), Spec: TeamV2Spec{Members: members}}
	check(t, direct.Create(t.Context(), team))
	return team
}

func change(t *testing.T, team *TeamV2, members ...string) {
	t.Helper()
	before := team.DeepCopyObject().(*TeamV2)
	team.Spec.Members = members
	check(t, direct.Patch(t.Context(), team, client.MergeFrom(before)))
}

// hasRoster waits until the roster has these members, and the status says how many.
func hasRoster(t *testing.T, name string, members ...string) *corev1.ConfigMap {
	t.Helper()
	roster, team := &corev1.ConfigMap{}, &TeamV2{}
	err := poll(func() bool {
		return direct.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name + "-roster"}, roster) == nil &&
			roster.Data["members"] == strings.Join(members, "\n") &&
			direct.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, team) == nil &&
			team.Status.Members == int32(len(members)) && team.Status.ObservedGeneration == team.Generation
	})
	if err != nil {
		t.Fatalf("the roster of %s is %v, its status %+v", name, roster.Data, team.Status)
	}
	return roster
}

func TestATeamHasARoster(t *testing.T) {
	team := create(t, "red", "bo", "al")
	roster := hasRoster(t, "red", "al", "bo")
	if !metav1.IsControlledBy(roster, team) {
		t.Fatalf("its owners are %+v", roster.OwnerReferences)
	}
	change(t, team, "cy")
	hasRoster(t, "red", "cy")
	check(t, direct.Delete(t.Context(), roster))
	hasRoster(t, "red", "cy")
	check(t, direct.Delete(t.Context(), team))
	check(t, poll(func() bool {
		return apierrors.IsNotFound(direct.Get(t.Context(), client.ObjectKeyFromObject(roster), roster))
	}))
}

func TestBothVersionsAreOneTeam(t *testing.T) {
	old := &TeamV1{ObjectMeta: named("old"), Spec: TeamV1Spec{Members: "bo al"}}
	check(t, direct.Create(t.Context(), old))
	hasRoster(t, "old", "al", "bo")
	team := &TeamV2{}
	check(t, direct.Get(t.Context(), client.ObjectKeyFromObject(old), team))
	change(t, team, "al", "cy")
	check(t, direct.Get(t.Context(), client.ObjectKeyFromObject(old), old))
	if old.Spec.Members != "al cy" {
		t.Fatalf("v1 has the members %q", old.Spec.Members)
	}
}

func TestNobodyIsAMemberTwice(t *testing.T) {
	for _, team := range []client.Object{
		&TeamV1{ObjectMeta: named("twice"), Spec: TeamV1Spec{Members: "al al"}},
		&TeamV2{ObjectMeta: named("twice"), Spec: TeamV2Spec{Members: []string{"al", "al"}}},
	} {
		if err := direct.Create(t.Context(), team); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "al is a member twice") {
			t.Fatalf("it was answered: %v", err)
		}
	}
}

func TestWritesThatFailAreMadeAgain(t *testing.T) {
	for name, answer := range map[string]any{
		"conflict": "conflict", "lost": "timed_out_after_write", "reset": "reset_before",
	} {
		t.Run(name, func(t *testing.T) {
			hits := api.fault(t, map[string]any{"verb": "patch", "resource": "configmaps", "times": 2, "answer": answer})
			create(t, name, "al")
			hasRoster(t, name, "al")
			if hits() != 2 {
				t.Fatalf("%d requests failed", hits())
			}
		})
	}
}

func TestChangesThatAWatchHasMissedAreSeen(t *testing.T) {
	team := create(t, "missed", "al")
	hasRoster(t, "missed", "al")
	hits := api.fault(t, map[string]any{"verb": "watch", "resource": "teams", "times": 1, "answer": "watch_gone"})
	change(t, team, "bo")
	hasRoster(t, "missed", "bo")
	if hits() != 1 {
		t.Fatalf("%d watches lost their place", hits())
	}
}

func TestItGetsThereWhateverGoesWrong(t *testing.T) {
	spared := "!Go-http-client/*" // who orders the faults
	hits := api.fault(t, map[string]any{
		"resource": []string{"configmaps", "teams", "teams/status"}, "user_agent": spared,
		"answer": map[string]any{"chaos": map[string]any{"seed": 7, "intensity": 0.3}},
	})
	for i := range 5 {
		check(t, poll(func() bool { // the test's own requests may fail too, and are made again
			team := &TeamV2{ObjectMeta: named(fmt.Sprintf("chaos-%d", i)), Spec: TeamV2Spec{Members: []string{"al"}}}
			err := direct.Create(t.Context(), team)
			return err == nil || apierrors.IsAlreadyExists(err)
		}))
	}
	for i := range 5 {
		hasRoster(t, fmt.Sprintf("chaos-%d", i), "al")
	}
	if hits() == 0 {
		t.Fatal("nothing went wrong")
	}
}

func TestWhatATestHasChangedCanBeUndone(t *testing.T) {
	team := create(t, "undone", "al")
	before := hasRoster(t, "undone", "al")
	restore := api.snapshot(t)
	change(t, team, "bo", "cy")
	hasRoster(t, "undone", "bo", "cy")
	restore()
	if after := hasRoster(t, "undone", "al"); after.UID != before.UID {
		t.Fatal("it is another roster")
	}
}
