"""Fields whose gate is off are dropped, unless the stored object has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.kinds.gated_fields import SPECIFICATIONS, drop_of, gated
from gateway.kinds.identity import GroupResource
from gateway.kinds.strategies import strategy_for
from gateway.release.gates import Gates
from gateway.release.release import DEFAULT_GATES

OFF, ON = Gates("1.34").enabled, Gates("1.35").enabled
SPEC = {
    "hostnameOverride": "h",
    "containers": [{"env": [{"name": "A", "valueFrom": {"fileKeyRef": {"key": "a"}}}, {"name": "B", "value": "b"}]}],
}
BARE = {"containers": [{"env": [{"name": "A", "valueFrom": {}}, {"name": "B", "value": "b"}]}]}


def within(path: str, spec: dict[str, Any]) -> dict[str, Any]:
    for name in reversed(path.split(".")):
        spec = {name: spec}
    return spec


def copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: copied(each) for name, each in value.items()}
    return [copied(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize(("resource", "place"), SPECIFICATIONS.items())
def test_fields_of_a_pods_specification_go_wherever_it_is(resource: GroupResource, place: str) -> None:
    drop, other = drop_of(resource, OFF), drop_of(resource, ON)
    obj = within(place, copied(SPEC))
    if other is not None:  # it has fields of a gate that is off in this minor too
        other(obj, None)
    assert obj == within(place, SPEC)
    assert drop is not None
    drop(obj, within(place, copied(SPEC)))
    assert obj == within(place, SPEC)
    drop(obj, None)
    assert obj == within(place, BARE)


def test_fields_of_a_pods_specification_go_from_writes_of_its_ephemeral_containers() -> None:
    drop = drop_of(GroupResource("", "pods"), OFF, "ephemeralcontainers")
    assert drop is not None
    pod = {"spec": {"ephemeralContainers": copied(SPEC["containers"])}}
    drop(pod, {"spec": {"containers": BARE["containers"]}})
    assert pod == {"spec": {"ephemeralContainers": BARE["containers"]}}


def test_fields_of_one_gate_stay_together() -> None:
    drop = drop_of(GroupResource("autoscaling", "horizontalpodautoscalers"), OFF)
    assert drop is not None
    new = {"spec": {"behavior": {"scaleUp": {"tolerance": "1"}, "scaleDown": {"tolerance": "2"}}}}
    kept = copied(new)
    drop(kept, {"spec": {"behavior": {"scaleUp": {"tolerance": "3"}}}})
    assert kept == new
    drop(new, {"spec": {"behavior": {"scaleUp": {}}}})
    assert new == {"spec": {"behavior": {"scaleUp": {}, "scaleDown": {}}}}


def test_fields_of_a_status_go_from_writes_of_the_status_alone() -> None:
    for resource in ("deployments", "replicasets"):
        drop = drop_of(GroupResource("apps", resource), OFF, "status")
        assert drop is not None
        status: dict[str, Any] = {"status": {"replicas": 1, "terminatingReplicas": 1}}
        drop(status, {"status": {"replicas": 1}})
        assert status == {"status": {"replicas": 1}}
        assert drop_of(GroupResource("apps", resource), ON, "status") is None


@pytest.mark.parametrize(("minor", "warns"), [("1.34", False), ("1.35", True)])
def test_a_driver_whose_tokens_may_be_logged_is_warned_of_where_it_can_say_otherwise(minor: str, warns: bool) -> None:
    strategy = strategy_for("storage.k8s.io", "csidrivers", "", Gates(minor))
    driver: dict[str, Any] = {"metadata": {"name": "d"}, "spec": {"tokenRequests": [{"audience": "a"}]}}
    context: Any = None
    assert bool(strategy.warnings_on_create and strategy.warnings_on_create(driver, context)) is warns


ADDED: dict[str, Any] = {
    "evictionResponders": [{"name": "a.b/c"}],
    "containers": [
        {
            "volumeMounts": [{"name": "v", "bindMountOptions": ["noexec"]}],
            "livenessProbe": {"grpc": {"port": 1, "mode": "TLS"}},
            "readinessProbe": {"httpGet": {"port": 1, "protocol": "HTTP2"}},
            "lifecycle": {"preStop": {"httpGet": {"port": 1, "protocol": "HTTP1"}}},
        }
    ],
    "volumes": [
        {"emptyDir": {"mode": 511}},
        {"secret": {"secretName": "s", "defaultUser": 1, "items": [{"key": "k", "path": "p", "user": 2}]}},
        {"projected": {"defaultUser": 1, "sources": [{"downwardAPI": {"items": [{"path": "p", "user": 2}]}}]}},
        {"projected": {"sources": [{"serviceAccountToken": {"path": "p", "user": 3}}]}},
    ],
}
WITHOUT_ADDED = {
    "containers": [
        {
            "volumeMounts": [{"name": "v"}],
            "livenessProbe": {"grpc": {"port": 1}},
            "readinessProbe": {"httpGet": {"port": 1}},
            "lifecycle": {"preStop": {"httpGet": {"port": 1}}},
        }
    ],
    "volumes": [
        {"emptyDir": {}},
        {"secret": {"secretName": "s", "items": [{"key": "k", "path": "p"}]}},
        {"projected": {"sources": [{"downwardAPI": {"items": [{"path": "p"}]}}]}},
        {"projected": {"sources": [{"serviceAccountToken": {"path": "p"}}]}},
    ],
}


@pytest.mark.parametrize(("resource", "place"), SPECIFICATIONS.items())
def test_fields_that_1_37_adds_go_wherever_a_pods_specification_is(resource: GroupResource, place: str) -> None:
    drop = drop_of(resource, Gates("1.37").enabled)
    assert drop is not None
    obj = within(place, copied(ADDED))
    drop(obj, within(place, copied(ADDED)))
    assert obj == within(place, ADDED)
    drop(obj, within(place, copied(WITHOUT_ADDED)))
    assert obj == within(place, WITHOUT_ADDED)
    emulating = drop_of(resource, Gates("1.36", binary="1.37").enabled)
    assert emulating is not None
    emulating(obj := within(place, copied(ADDED)), None)
    assert obj == within(place, WITHOUT_ADDED)


@pytest.mark.parametrize(
    ("group", "resource", "subresource", "obj", "field"),
    [
        ("", "nodes", "", {"spec": {"podPreemptionPolicy": "a", "podCIDR": "c"}}, "podPreemptionPolicy"),
        ("", "pods", "status", {"status": {"volumeHealth": [{}], "phase": "p"}}, "volumeHealth"),
        ("", "persistentvolumeclaims", "status", {"status": {"healthStatus": {}, "phase": "p"}}, "healthStatus"),
        ("batch", "jobs", "", {"spec": {"scheduling": {}, "parallelism": 1}}, "scheduling"),
    ],
)
def test_fields_that_1_37_adds_go_from_other_kinds(
    group: str, resource: str, subresource: str, obj: dict[str, Any], field: str
) -> None:
    drop = drop_of(GroupResource(group, resource), Gates("1.37").enabled, subresource)
    assert drop is not None
    kept = copied(obj)
    drop(kept, obj)
    assert kept == obj
    drop(kept, None)
    (member,) = obj
    assert kept == {member: {name: value for name, value in obj[member].items() if name != field}}


def test_a_node_has_the_user_namespace_of_its_kubelet_where_the_gate_is_on() -> None:
    nodes = GroupResource("", "nodes")
    assert drop_of(nodes, Gates("1.37").enabled, "status") is None
    drop = drop_of(nodes, Gates("1.36", binary="1.37").enabled, "status")
    assert drop is not None
    drop(node := {"status": {"nodeInfo": {"runningInUserNamespace": True}}}, {"status": {}})
    assert node == {"status": {"nodeInfo": {}}}


NOW = DEFAULT_GATES.enabled
OFF_IN_PODS = [
    each.paths
    for each in gated(GroupResource("", "pods"))
    if not each.subresource and not NOW(each.gate) and (not each.since or NOW(each.since))
]


def parts(path: str) -> Iterator[tuple[str, bool]]:
    for part in path.split("."):
        yield part.removesuffix("[]"), part.endswith("[]")


def holders(obj: Any, path: str) -> list[tuple[dict[str, Any], str]]:
    """The objects that have the field of a path, found one path at a time, with the field's name."""
    *above, (last, _) = parts(path)
    found = [obj]
    for name, is_list in above:
        found = [each[name] for each in found if isinstance(each, dict) and each.get(name)]
        found = [item for each in found for item in each] if is_list else found
    return [(each, last) for each in found if isinstance(each, dict) and last in each]


@st.composite
def pods(draw: st.DrawFn) -> dict[str, Any]:
    """Pods with some of the fields, and with neighbours that have no field, are empty or are null."""
    pod: dict[str, Any] = {"spec": {"nodeName": "n"}}
    for path in draw(st.lists(st.sampled_from([path for paths in OFF_IN_PODS for path in paths]), max_size=6)):
        at: Any = pod
        *above, (last, _) = parts(path)
        for name, is_list in above:
            if not is_list:
                at = at.setdefault(name, {})
                continue
            items = at.setdefault(name, [])
            items += draw(st.lists(st.sampled_from([{"name": "x"}, {}, None]).map(copied), max_size=2))
            known = [item for item in items if isinstance(item, dict)]
            goes_on = draw(st.booleans())
            if known and goes_on:
                at = draw(st.sampled_from(known))
            else:
                items.append({"name": "own"})
                at = items[-1]
        at[last] = draw(st.sampled_from([1, "text", None, {}]))
    return pod


@given(pods(), st.none() | pods())
def test_one_walk_drops_what_a_walk_of_each_path_drops(pod: dict[str, Any], old: dict[str, Any] | None) -> None:
    drop, expected = drop_of(GroupResource("", "pods"), NOW), copied(pod)
    assert drop is not None
    for paths in OFF_IN_PODS:
        if old is None or not any(holders(old, path) for path in paths):
            for holder, name in [found for path in paths for found in holders(expected, path)]:
                holder.pop(name, None)
    drop(pod, old)
    assert pod == expected
