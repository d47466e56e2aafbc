"""Fields of pods and of the health of volumes that only a server with their gates on stores are judged as there.

The expected texts were compared with kube-apiserver 1.37.2, over objects that one with the gates on had stored.
"""

from __future__ import annotations

from typing import Any

import pytest

from gateway.kinds.gated_fields import SPECIFICATIONS
from gateway.kinds.identity import GroupResource
from gateway.kinds.strategies import strategy_for
from gateway.release.gates import Gates
from gateway.validation.declared_rules import errors_beside

GATES = Gates("1.37")
_RESERVED = "domain names *.k8s.io, *.kubernetes.io are reserved"


def within(path: str, value: Any) -> Any:
    for name in reversed(path.split(".")):
        value = {name: value}
    return value


def told(resource: GroupResource, new: Any, old: Any, subresource: str = "") -> list[str]:
    rules = strategy_for(resource.group, resource.resource, subresource, GATES).declared
    return list(map(str, errors_beside(rules, [], new, old)))


def responder(name: str = "a.b/c", priority: int | None = 5000) -> dict[str, Any]:
    return {"name": name} if priority is None else {"name": name, "priority": priority}


RESPONDERS: list[tuple[list[dict[str, Any]], list[str]]] = [
    ([responder("d.e/f"), responder()], []),
    ([responder(), responder()], ['[1]: Duplicate value: {"name":"a.b/c","priority":5000}']),
    ([responder("")], ["[0].name: Required value"]),
    ([responder("x")], ["[0].name: Invalid value: \"x\": must include a prefix (e.g. 'example.com/key')"]),
    ([responder("k8s.io/c")], [f'[0].name: Invalid value: "k8s.io/c": {_RESERVED}']),
    ([responder("a.kubernetes.io/c")], [f'[0].name: Invalid value: "a.kubernetes.io/c": {_RESERVED}']),
    ([responder(priority=None)], ["[0].priority: Required value"]),
    (
        [responder(priority=999)],
        ["[0].priority: Invalid value: 999: priorities 0-999 are reserved for responders with *.k8s.io suffix"],
    ),
    ([responder(priority=-1)], ["[0].priority: Invalid value: -1: must be greater than or equal to 0"]),
    (
        [responder(priority=100_001)],
        ["[0].priority: Invalid value: 100001: must be less than or equal to 100000"],
    ),
    ([responder(f"a{i}.b/c") for i in range(11)], [": Too many: 11: must have at most 10 items"]),
]


@pytest.mark.parametrize(("resource", "place"), SPECIFICATIONS.items())
@pytest.mark.parametrize(("responders", "expected"), RESPONDERS)
def test_eviction_responders_are_judged_wherever_a_pods_specification_is(
    resource: GroupResource, place: str, responders: Any, expected: list[str]
) -> None:
    def holding(value: Any) -> Any:
        return within(f"{place}.evictionResponders", value)

    found = told(resource, holding(responders), holding([responder("z.z/z")]))
    path = f"{place}.evictionResponders"
    assert [each for each in found if each.startswith(path)] == [path + each for each in expected]
    assert told(resource, holding(responders), holding(responders)) == []


HEALTHY = {"status": "Degraded", "reason": "Abc"}
CONDITIONS: list[tuple[list[dict[str, Any]], list[str]]] = [
    ([HEALTHY, HEALTHY | {"status": "DataLoss"}], []),
    ([HEALTHY, HEALTHY], ['[1]: Duplicate value: {"status":"Degraded","reason":"Abc"}']),
    (
        [HEALTHY | {"status": "x"}],
        ['[0].status: Unsupported value: "x": supported values: "DataLoss", "Degraded", "Inaccessible"'],
    ),
    ([{"reason": "Abc"}], ["[0].status: Required value"]),
    ([{"status": "DataLoss"}], ["[0].reason: Required value"]),
    ([HEALTHY | {"reason": "a" * 257}], ["[0].reason: Too long: may not be more than 256 bytes"]),
    ([HEALTHY | {"message": "x" * 1025}], ["[0].message: Too long: may not be more than 1024 bytes"]),
    ([HEALTHY | {"reason": f"A{i}"} for i in range(17)], [": Too many: 17: must have at most 16 items"]),
]


@pytest.mark.parametrize(("conditions", "expected"), CONDITIONS)
def test_the_health_of_volumes_is_judged_in_pods_and_claims(conditions: Any, expected: list[str]) -> None:
    for resource, new, path in (
        ("pods", {"volumeHealth": [{"name": "v", "healthConditions": conditions}]}, "volumeHealth[0]"),
        ("persistentvolumeclaims", {"healthStatus": {"healthConditions": conditions}}, "healthStatus"),
    ):
        found = told(GroupResource("", resource), {"status": new}, {"status": {}}, "status")
        assert found == [f"status.{path}.healthConditions{each}" for each in expected]


def test_reports_of_a_pods_volumes_are_named_and_unique() -> None:
    pods, report = GroupResource("", "pods"), {"name": "v"}
    for reports, expected in (
        ([{}], "status.volumeHealth[0].name: Required value"),
        ([report, report], 'status.volumeHealth[1]: Duplicate value: {"name":"v"}'),
    ):
        assert told(pods, {"status": {"volumeHealth": reports}}, {"status": {}}, "status") == [expected]


@pytest.mark.parametrize(
    ("group", "resource", "path"),
    [
        ("", "nodes", "spec.podPreemptionPolicy"),
        ("batch", "jobs", "spec.scheduling"),
        ("batch", "cronjobs", "spec.jobTemplate.spec.scheduling"),
    ],
)
def test_a_field_whose_gate_is_off_may_not_change(group: str, resource: str, path: str) -> None:
    kind = GroupResource(group, resource)

    def judged(new: Any) -> list[str]:
        return [each for each in told(kind, within(path, new), within(path, {"a": "b"})) if path in each]

    assert judged({"a": "b"}) == []
    assert judged({}) == [f"{path}: Forbidden"]
    kept = [f"{path}: Invalid value: null: field cannot be cleared once set"]
    assert judged(None) == ([] if resource == "nodes" else kept)
