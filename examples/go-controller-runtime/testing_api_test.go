package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// testingAPI orders faults and keeps snapshots: what a throw-away gateway serves under /testing.
type testingAPI struct {
	url    string
	client *http.Client
}

func newTestingAPI(config *rest.Config) (*testingAPI, error) {
	client, err := rest.HTTPClientFor(config)
	return &testingAPI{strings.TrimSuffix(config.Host, "/") + "/testing", client}, err
}

func (a *testingAPI) ask(t *testing.T, method, path string, body any) map[string]any {
	t.Helper()
	sent, err := json.Marshal(body)
	check(t, err)
	request, err := http.NewRequest(method, a.url+path, bytes.NewReader(sent))
	check(t, err)
	answer, err := a.client.Do(request)
	check(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	check(t, err)
	if answer.StatusCode >= 300 {
		t.Fatalf("%s %s: %d %s", method, path, answer.StatusCode, text)
	}
	found := map[string]any{}
	if len(text) > 0 {
		check(t, json.Unmarshal(text, &found))
	}
	return found
}

// fault goes wrong until the test ends; how often it has by now is what the function returns.
func (a *testingAPI) fault(t *testing.T, fault map[string]any) func() int {
	path := fmt.Sprintf("/faults/%v", a.ask(t, http.MethodPost, "/faults", fault)["id"])
	t.Cleanup(func() { a.ask(t, http.MethodDelete, path, nil) })
	return func() int { return int(a.ask(t, http.MethodGet, path, nil)["hits"].(float64)) }
}

// snapshot keeps the whole state as it is now; the function that it returns puts it back.
func (a *testingAPI) snapshot(t *testing.T) (restore func()) {
	path := fmt.Sprintf("/snapshots/%v", a.ask(t, http.MethodPost, "/snapshots", nil)["name"])
	return func() { a.ask(t, http.MethodPut, path, nil) }
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
