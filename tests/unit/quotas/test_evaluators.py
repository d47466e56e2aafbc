"""The usage of objects, as kube-apiserver's evaluators compute it."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.kinds.attributes import Operation
from gateway.quotas.amounts import Amounts, written
from gateway.quotas.evaluator import EvaluatedWrite, Evaluator
from gateway.quotas.evaluators import device_claims, evaluator_of, pods, services, volume_claims
from gateway.quotas.scopes import ScopeSelector
from gateway.schema.quantity import parse_quantity

PAST, FUTURE = "2020-01-01T00:00:00Z", "2999-01-01T00:00:00Z"


class Classes:
    """Device class `gpu` stands for example.com/gpu; `pod` is what the owner of a claim uses."""

    pod: Amounts = {}

    def extended_resource(self, device_class: str) -> str:
        return "example.com/gpu" if device_class == "gpu" else ""

    def has_class_of(self, extended_resource: str) -> bool:
        return extended_resource == "example.com/gpu"

    def owner_usage(self, claim: Any) -> Amounts:
        return self.pod


def used(evaluator: Evaluator, spec: Any, classes: Classes | None = None, **more: Any) -> dict[str, str]:
    obj = {"metadata": {"name": "o", "namespace": "n", **more.pop("metadata", {})}, "spec": spec, **more}
    return written(evaluator.usage(obj, classes or Classes()))


def container(name: str = "c", restart: str = "", **resources: Any) -> dict[str, Any]:
    found = {"name": name, "resources": resources}
    return {**found, "restartPolicy": restart} if restart else found


def test_a_pod_uses_the_sum_of_its_containers() -> None:
    both = [container(requests={"cpu": "300m", "memory": "1Gi"}, limits={"cpu": "1"}), container(requests={"cpu": "1"})]
    assert used(pods.EVALUATOR, {"containers": both}) == {
        "count/pods": "1",
        "pods": "1",
        "cpu": "1300m",
        "requests.cpu": "1300m",
        "memory": "1Gi",
        "requests.memory": "1Gi",
        "limits.cpu": "1",
    }


def test_of_other_resources_the_extended_ones_count() -> None:
    names = [
        "example.com/gpu",
        "deviceclass.resource.kubernetes.io/nic",
        "kubernetes.io/own",
        "native",
        "requests.e.com/x",
    ]
    found = used(pods.EVALUATOR, {"containers": [container(requests=dict.fromkeys(names, "1"))]})
    counted = {"requests.example.com/gpu", "requests.deviceclass.resource.kubernetes.io/nic"}
    assert found.keys() == {"pods", "count/pods", *counted}


def test_starting_counts_where_it_takes_more_than_running() -> None:
    spec = {
        "initContainers": [
            container(requests={"cpu": "5"}),
            container(restart="Always", requests={"cpu": "2"}),
            container(requests={"cpu": "4"}),
        ],
        "containers": [container(requests={"cpu": "3"})],
    }
    assert used(pods.EVALUATOR, spec)["requests.cpu"] == "6"


def test_pod_level_resources_and_overhead() -> None:
    spec = {
        "resources": {"requests": {"cpu": "4"}, "limits": {"cpu": "5"}},
        "overhead": {"cpu": "1", "memory": "1Mi"},
        "containers": [container(requests={"cpu": "3", "example.com/gpu": "2"})],
    }
    assert used(pods.EVALUATOR, spec) == {
        "count/pods": "1",
        "pods": "1",
        "cpu": "5",
        "requests.cpu": "5",
        "limits.cpu": "6",
        "memory": "1Mi",
        "requests.memory": "1Mi",
        "requests.example.com/gpu": "2",
    }


@pytest.mark.parametrize(
    ("more", "counted"),
    [
        ({"status": {"phase": "Succeeded"}}, False),
        ({"status": {"phase": "Running"}}, True),
        ({"metadata": {"deletionTimestamp": PAST, "deletionGracePeriodSeconds": 30}}, False),
        ({"metadata": {"deletionTimestamp": FUTURE, "deletionGracePeriodSeconds": 30}}, True),
    ],
)
def test_pods_count_until_they_have_ended_or_should_have(more: Any, counted: bool) -> None:
    found = used(pods.EVALUATOR, {"containers": [container(requests={"cpu": "1"})]}, **more)
    assert found["count/pods"] == "1" and ("pods" in found) is counted


@pytest.mark.parametrize(("reason", "cpu"), [("Deferred", "4"), ("Infeasible", "3")])
def test_a_resize_under_way_counts_the_most(reason: str, cpu: str) -> None:
    status = {
        "conditions": [{"type": "PodResizePending", "reason": reason}],
        "containerStatuses": [
            {"name": "c", "resources": {"requests": {"cpu": "2"}}, "allocatedResources": {"cpu": "3"}}
        ],
    }
    assert used(pods.EVALUATOR, {"containers": [container(requests={"cpu": "4"})]}, status=status)["cpu"] == cpu


def test_services_count_ports_that_they_will_get() -> None:
    ports = [{"port": 1}, {"port": 2, "nodePort": 30000}]
    assert used(services.EVALUATOR, {"type": "NodePort", "ports": ports})["services.nodeports"] == "2"
    balanced = {"type": "LoadBalancer", "ports": ports}
    assert used(services.EVALUATOR, balanced)["services.nodeports"] == "2"
    explicit = used(services.EVALUATOR, {**balanced, "allocateLoadBalancerNodePorts": False})
    assert (explicit["services.nodeports"], explicit["services.loadbalancers"]) == ("1", "1")
    plain = used(services.EVALUATOR, {"type": "ClusterIP", "ports": ports})
    assert (plain["services.nodeports"], plain["services"]) == ("0", "1")


def test_claims_count_by_class_and_what_they_have_been_given() -> None:
    spec = {"storageClassName": "gold", "resources": {"requests": {"storage": "1500m"}}}
    assert used(volume_claims.EVALUATOR, spec) == {
        "count/persistentvolumeclaims": "1",
        "persistentvolumeclaims": "1",
        "requests.storage": "2",
        "gold.storageclass.storage.k8s.io/persistentvolumeclaims": "1",
        "gold.storageclass.storage.k8s.io/requests.storage": "2",
    }
    grown = used(volume_claims.EVALUATOR, spec, status={"allocatedResources": {"storage": "5Gi"}})
    assert grown["requests.storage"] == "5Gi"


def test_device_claims_count_the_worst_case_of_each_class() -> None:
    spec = {
        "devices": {
            "requests": [
                {"exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2}},
                {
                    "firstAvailable": [
                        {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1},
                        {"deviceClassName": "nic", "allocationMode": "All"},
                    ]
                },
            ]
        }
    }
    assert used(device_claims.EVALUATOR, spec) == {
        "count/resourceclaims.resource.k8s.io": "1",
        "gpu.deviceclass.resource.k8s.io/devices": "3",
        "nic.deviceclass.resource.k8s.io/devices": "32",
        "requests.deviceclass.resource.kubernetes.io/gpu": "3",
        "requests.deviceclass.resource.kubernetes.io/nic": "32",
        "requests.example.com/gpu": "3",
    }
    owned = Classes()
    owned.pod = {"requests.example.com/gpu": parse_quantity("3")}
    assert "requests.example.com/gpu" not in used(device_claims.EVALUATOR, spec, owned)


def test_device_claims_count_under_the_names_of_classes_that_stand_for_a_resource() -> None:
    implicit = "requests.deviceclass.resource.kubernetes.io/"
    counted = ["any.deviceclass.resource.k8s.io/devices", f"{implicit}gpu", "requests.example.com/gpu"]
    others = [f"{implicit}nic", "requests.example.com/nic", "requests.cpu", "pods"]
    assert device_claims.EVALUATOR.matching([*counted, *others], Classes()) == counted


SCOPES = [
    ("Terminating", {"activeDeadlineSeconds": 0}, {}),
    ("NotTerminating", {}, {"activeDeadlineSeconds": 5}),
    ("BestEffort", {"containers": [container()]}, {"containers": [container(limits={"cpu": "1"})]}),
    ("NotBestEffort", {"containers": [container(limits={"cpu": "1"})]}, {"containers": [container()]}),
    ("PriorityClass", {"priorityClassName": "p"}, {}),
    (
        "CrossNamespacePodAffinity",
        {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"namespaces": ["x"]}]}}},
        {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "x"}]}}},
    ),
    ("VolumeAttributesClass", None, {}),
]


@pytest.mark.parametrize(("scope", "inside", "outside"), SCOPES)
def test_scopes_select_pods(scope: str, inside: Any, outside: Any) -> None:
    selector = ScopeSelector(scope)
    if inside is not None:
        assert pods.EVALUATOR.in_scope(selector, {"metadata": {}, "spec": inside})
    assert not pods.EVALUATOR.in_scope(selector, {"metadata": {}, "spec": outside})


@pytest.mark.parametrize("scope", sorted({scope for scope, _, _ in SCOPES} - {"VolumeAttributesClass"}))
def test_scopes_of_pods_select_no_claim(scope: str) -> None:
    claim = {"metadata": {}, "spec": {"volumeAttributesClassName": "fast"}}
    assert volume_claims.EVALUATOR.in_scope(ScopeSelector("VolumeAttributesClass", "Exists"), claim)
    assert not volume_claims.EVALUATOR.in_scope(ScopeSelector(scope, "Exists"), claim)


@pytest.mark.parametrize(
    ("operator", "values", "names", "selected"),
    [
        ("In", ("a", "b"), ("a",), True),
        ("In", ("a",), (), False),
        ("NotIn", ("a",), ("a",), False),
        ("NotIn", ("a",), (), True),
        ("Exists", (), ("a",), True),
        ("DoesNotExist", (), (), True),
        ("DoesNotExist", (), ("a",), False),
    ],
)
def test_scope_selectors(operator: str, values: tuple[str, ...], names: tuple[str, ...], selected: bool) -> None:
    assert ScopeSelector("PriorityClass", operator, values).selects(names) is selected


def test_only_updates_that_may_use_more_are_looked_at() -> None:
    def handled(evaluator: Evaluator, subresource: str, old: Any, new: Any) -> bool:
        return evaluator.handles(EvaluatedWrite(Operation.UPDATE, subresource, {"spec": new}, {"spec": old}))

    assert not handled(pods.EVALUATOR, "", {}, {})
    assert handled(pods.EVALUATOR, "", {}, {"activeDeadlineSeconds": 1})
    assert handled(pods.EVALUATOR, "resize", {}, {})
    assert not handled(pods.EVALUATOR, "status", {}, {})
    assert handled(services.EVALUATOR, "", {}, {})
    for each in (services.EVALUATOR, volume_claims.EVALUATOR, device_claims.EVALUATOR):
        assert not handled(each, "status", {}, {"type": "LoadBalancer"})
    configmaps = evaluator_of("", "configmaps")
    assert configmaps is not None and not handled(configmaps, "", {}, {})


def test_events_are_not_counted_and_custom_kinds_are() -> None:
    assert evaluator_of("", "events") is None and evaluator_of("events.k8s.io", "events") is None
    found = evaluator_of("example.com", "widgets")
    assert found is not None and found.names == {"count/widgets.example.com"}
