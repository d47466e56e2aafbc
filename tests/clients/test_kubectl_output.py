"""`kubectl get` and `describe` in every output format, and `kubectl explain`."""

from __future__ import annotations

import json

import pytest
import yaml

from tests.clients.command import Kubectl

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "shown", "labels": {"app": "shown", "tier": "front"}},
    "spec": {"nodeName": "node-7", "containers": [{"name": "c", "image": "nginx:1"}]},
}
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "shown"},
    "spec": {"selector": {"app": "shown"}, "ports": [{"name": "web", "port": 80}, {"name": "tls", "port": 443}]},
}


@pytest.fixture
def shown(kubectl: Kubectl) -> Kubectl:
    """A namespace with a pod and a service."""
    for obj in (POD, SERVICE):
        kubectl("create", "-f", "-", given=obj)
    return kubectl


def cells(table: str) -> list[list[str]]:
    return [line.split() for line in table.splitlines()]


def test_tables(shown: Kubectl) -> None:
    head, row = cells(shown("get", "pods"))
    assert head == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert row[:4] == ["shown", "0/1", "Pending", "0"]
    assert cells(shown("get", "pods", "--no-headers"))[0][0] == "shown"
    assert cells(shown("get", "pods", "--show-labels"))[1][-1] == "app=shown,tier=front"
    assert cells(shown("get", "pods", "-L", "tier"))[1][-1] == "front"
    assert cells(shown("get", "pod,service", "--no-headers"))[0][0] == "pod/shown"
    assert cells(shown("get", "pods", "--all-namespaces", "-l", "tier=front"))[0][0] == "NAMESPACE"
    assert shown("get", "pods", "-l", "tier=none") == ""


def test_wide_tables_have_more_columns(shown: Kubectl) -> None:
    head, row = shown("get", "pods", "-o", "wide").splitlines()
    for name in ("IP", "NODE", "NOMINATED NODE", "READINESS GATES"):
        assert name in head
    assert "node-7" in row.split()
    head, row = shown("get", "services", "-o", "wide").splitlines()
    assert head.split()[-1] == "SELECTOR"
    assert "80/TCP,443/TCP" in row
    assert row.split()[-1] == "app=shown"


def test_whole_objects(shown: Kubectl) -> None:
    in_json = json.loads(shown("get", "pod", "shown", "-o", "json"))
    assert yaml.safe_load(shown("get", "pod", "shown", "-o", "yaml")) == in_json
    assert in_json["spec"]["nodeName"] == "node-7"
    listed = json.loads(shown("get", "pods,services", "-o", "json"))
    assert (listed["kind"], [each["kind"] for each in listed["items"]]) == ("List", ["Pod", "Service"])
    with_fields = yaml.safe_load(shown("get", "pod", "shown", "-o", "yaml", "--show-managed-fields"))
    assert with_fields["metadata"]["managedFields"][0]["operation"] == "Update"
    assert "managedFields" not in in_json["metadata"]
    raw = shown("get", "--raw", f"/api/v1/namespaces/{shown.namespace}/pods/shown")
    assert json.loads(raw)["metadata"]["uid"] == in_json["metadata"]["uid"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["pods,services", "-o", "name"], "pod/shown\nservice/shown\n"),
        (["pod", "shown", "-o", "jsonpath={.spec.nodeName} {.metadata.labels.tier}"], "node-7 front"),
        (["service", "shown", "-o", "jsonpath={range .spec.ports[*]}{.name}={.port};{end}"], "web=80;tls=443;"),
        (["pod", "shown", "-o", "jsonpath-as-json={.metadata.labels}"], None),
        (["pods", "-o", "custom-columns=N:.metadata.name,IMAGE:.spec.containers[*].image"], "N IMAGE shown nginx:1"),
        (["pods", "-o", "custom-columns=N:.metadata.name", "--no-headers"], "shown"),
        (["service", "shown", "-o", "go-template={{range .spec.ports}}{{.port}} {{end}}"], "80 443 "),
        (["pods", "-o", "go-template={{len .items}}"], "1"),
        (["pods", "--sort-by=.metadata.name", "-o", "name"], "pod/shown\n"),
    ],
)
def test_chosen_fields(shown: Kubectl, arguments: list[str], expected: str | None) -> None:
    printed = shown("get", *arguments)
    if expected is None:
        assert json.loads(printed) == [{"app": "shown", "tier": "front"}]
    else:
        assert " ".join(printed.split()) == " ".join(expected.split())


def test_describe_and_events(shown: Kubectl) -> None:
    described = shown("describe", "pod", "shown")
    assert "Node:" in described
    assert "node-7" in described
    assert "Selector:" in shown("describe", "service", "shown")
    assert shown("events") == ""


def test_wide_api_resources_name_verbs_and_categories(kubectl: Kubectl) -> None:
    head, *rows = kubectl("api-resources", "-o", "wide").splitlines()
    assert head.split() == ["NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND", "VERBS", "CATEGORIES"]
    pods = next(row.split() for row in rows if row.startswith("pods "))
    assert pods == [
        "pods",
        "po",
        "v1",
        "true",
        "Pod",
        "create,delete,deletecollection,get,list,patch,update,watch",
        "all",
    ]
    custom = next(row.split() for row in rows if row.startswith("customresourcedefinitions "))
    assert custom[1:5] == ["crd,crds", "apiextensions.k8s.io/v1", "false", "CustomResourceDefinition"]
    by_group = kubectl("api-resources", "--api-group=apps", "--namespaced=true", "-o", "name").split()
    assert by_group == [
        "controllerrevisions.apps",
        "daemonsets.apps",
        "deployments.apps",
        "replicasets.apps",
        "statefulsets.apps",
    ]


def test_explain_goes_all_the_way_down(kubectl: Kubectl) -> None:
    tree = kubectl("explain", "deployments", "--recursive")
    assert "DESCRIPTION:\n    Deployment enables declarative updates for Pods and ReplicaSets." in tree
    for line in (
        "          livenessProbe\t<Probe>",
        "            exec\t<ExecAction>",
        "    matchLabels\t<map[string]string>",
    ):
        assert line in tree
    assert "enum: RollingUpdate, Recreate" in " ".join(tree.split()) or "enum: Recreate, RollingUpdate" in tree
    fields = kubectl("explain", "cronjobs.spec")
    assert "schedule\t<string> -required-" in fields
    assert "The schedule in Cron format" in fields
    assert "<no description>" not in kubectl("explain", "pods.spec.containers.resources")


def test_explain_of_a_version(kubectl: Kubectl) -> None:
    shown = kubectl("explain", "horizontalpodautoscalers.spec", "--api-version=autoscaling/v2")
    assert "GROUP:      autoscaling\nKIND:       HorizontalPodAutoscaler\nVERSION:    v2" in shown
