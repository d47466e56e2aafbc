"""Canonical values of other minors are found by their bytes, if they are read otherwise than they were stored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from gateway.defaults.registry import GATED
from gateway.jsontypes import JsonObject, dumps, loads
from gateway.kinds.builtin import builtin_registry
from gateway.kinds.identity import GroupResource
from gateway.kinds.model import Model
from gateway.kinds.other_minors import _LATER, IsOutdated, outdated
from gateway.release.gates import Gates
from gateway.release.minors import GIT_VERSIONS
from gateway.release.release import release_of
from gateway.schema.catalog import serving
from gateway.schema.types import Omit, Type, TypeKind
from tests.upstream.protobuf_recordings import bodies

MODELS = {
    minor: {
        (each.group, each.version, each.resource): each.model
        for each in builtin_registry(release=release_of(minor=minor)).resources.values()
        if each.model.storage_prefix and not each.subresource
    }
    for minor in GIT_VERSIONS
}
LATER = "deployments", "horizontalpodautoscalers", "jobs", "pods"  # of which MORE has members that came with 1.37
METADATA = {"name": "a", "namespace": "n", "uid": "u-1"}
POD = {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "1"}}}], "resources": {}}
MOUNT = {"name": "v", "mountPath": "/a", "bindMountOptions": ["noexec"]}
PROBE = {"httpGet": {"port": 1, "protocol": "HTTP2"}}
CONDITION = {"type": "AbleToScale", "status": "True", "observedGeneration": 2}
LATER_PODS = (
    {
        **POD,
        "volumes": [{"name": "v", "emptyDir": {}}],
        "containers": [{**POD["containers"][0], "volumeMounts": [MOUNT]}],
    },
    {**POD, "containers": [{**POD["containers"][0], "livenessProbe": PROBE, "ports": [{"containerPort": 1}]}]},
)
NAMED = {"maxUnavailable": "1", "preventPodSchedulingIfMissing": "false", "status": "{}"}
MORE: list[tuple[tuple[str, str, str], Any]] = [
    (("", "v1", "pods"), {"spec": POD}),
    *((("", "v1", "pods"), {"spec": spec}) for spec in LATER_PODS),
    (("apps", "v1", "deployments"), {"spec": {"template": {"spec": LATER_PODS[0]}}}),
    (("batch", "v1", "jobs"), {"spec": {"scheduling": {}, "template": {"spec": POD}}}),
    (("autoscaling", "v2", "horizontalpodautoscalers"), {"status": {"conditions": [CONDITION]}}),
    (("storage.k8s.io", "v1", "csidrivers"), {"metadata": {"annotations": NAMED, "labels": NAMED}, "spec": {}}),
    (("storage.k8s.io", "v1", "csidrivers"), {"spec": {"preventPodSchedulingIfMissing": True}}),
    (("storage.k8s.io", "v1", "csinodes"), {"metadata": {"annotations": NAMED}, "spec": {"drivers": []}}),
    *(
        (
            ("apps", "v1", "statefulsets"),
            {
                "metadata": {"annotations": {**NAMED, "text": '"rollingUpdate":{"partition":0}'}},
                "spec": {"template": {"spec": POD}, "updateStrategy": strategy},
            },
        )
        for strategy in (
            {},
            {"type": "OnDelete"},
            {"type": "RollingUpdate"},
            {"type": "RollingUpdate", "rollingUpdate": {}},
            {"type": "RollingUpdate", "rollingUpdate": {"partition": 7}},
            {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "30%"}},
        )
    ),
]


def of_each_kind() -> Iterator[tuple[tuple[str, str, str], Any]]:
    for path, body in bodies():
        parts = path.strip("/").split("/")
        group, version = ("", parts[1]) if parts[0] == "api" else (parts[1], parts[2])
        yield (group, version, parts[-1]), body


def stored(model: Model, version: str, body: JsonObject) -> bytes:
    api_version = f"{model.group}/{version}" if model.group else version
    metadata = {**body.get("metadata", {}), **METADATA}
    return model.canonicalise(dumps({**body, "kind": model.kind, "apiVersion": api_version, "metadata": metadata}))


@pytest.mark.parametrize("first", GIT_VERSIONS)
@pytest.mark.parametrize("then", GIT_VERSIONS)
def test_bytes_tell_which_objects_another_minor_reads_otherwise(first: str, then: str) -> None:
    found = set()
    for place, body in (*of_each_kind(), *MORE):
        if place not in MODELS[first] or place not in MODELS[then]:
            continue
        with serving(first):
            value = stored(MODELS[first][place], place[1], body)
        model = MODELS[then][place]
        with serving(then):
            differs = model.canonicalise(value) != value
        told = model.outdated is not None and model.outdated(value)
        assert told is differs or (told and then != "1.37"), value  # another member may have the name of a later one
        if differs:
            found.add(place[2])
    if first == then or "1.37" not in (first, then):
        assert not found
    else:
        assert found == ({"csidrivers", "csinodes", "statefulsets"} if then == "1.37" else {"csinodes", *LATER})


def shown(minor: str, place: tuple[str, str, str], value: bytes) -> Any:
    with serving(minor):
        return loads(MODELS[minor][place].canonicalise(value))


def test_what_a_later_minor_shows_is_its_default() -> None:
    storage = "storage.k8s.io", "v1"
    sets, drivers, nodes = ("apps", "v1", "statefulsets"), (*storage, "csidrivers"), (*storage, "csinodes")
    with serving("1.36"):
        values = {place: stored(MODELS["1.36"][place], "v1", {"spec": {}}) for place in (sets, drivers, nodes)}
    update = shown("1.37", sets, values[sets])["spec"]["updateStrategy"]
    assert update == {"type": "RollingUpdate", "rollingUpdate": {"partition": 0, "maxUnavailable": 1}}
    assert shown("1.37", drivers, values[drivers])["spec"]["preventPodSchedulingIfMissing"] is False
    assert shown("1.37", nodes, values[nodes])["status"] == {}
    assert not any("status" in shown(minor, nodes, values[nodes]) for minor in ("1.34", "1.35", "1.36"))


def of(plural: str, group: str, minor: str, *said: tuple[str, bool]) -> IsOutdated | None:
    return outdated(GroupResource(group, plural), Gates(minor, said).enabled)


def test_only_kinds_with_such_defaults_are_looked_at_and_gates_decide() -> None:
    assert {each.kind for each in MODELS["1.37"].values() if each.outdated} == {"StatefulSet", "CSIDriver", "CSINode"}
    assert of("csidrivers", "storage.k8s.io", "1.36") is None
    assert of("csidrivers", "storage.k8s.io", "1.36", ("VolumeLimitScaling", True)) is not None
    assert of("statefulsets", "apps", "1.37", ("MaxUnavailableStatefulSet", False)) is None


def members(type_: Type, path: str, outer: frozenset[Type]) -> Iterator[tuple[str, bool]]:
    """The paths of all members, and whether Go always writes them."""
    if type_.kind is TypeKind.STRUCT and type_ not in outer:
        for each in type_.fields.values():
            yield f"{path}.{each.name}", each.omit is Omit.NEVER
            yield from members(each.type, f"{path}.{each.name}", outer | {type_})
    elif type_.elem is not None:
        yield from members(type_.elem, f"{path}[]", outer)


def all_members(minor: str) -> dict[str, bool]:
    with serving(minor):
        models = MODELS[minor].values()
        return {path: always for each in models for path, always in members(each.stored.type, each.kind, frozenset())}


def test_no_other_kind_has_defaults_or_members_that_another_minor_lacks() -> None:
    """A gate with defaults, or a member that is always written, needs a test of bytes when it comes."""
    assert {kind for _, kind in GATED} == {"Pod", "StatefulSet", "CSIDriver"}  # pods have fewer defaults in 1.37
    before, now = all_members("1.36"), all_members("1.37")
    parents = before.keys() | {model.kind for model in MODELS["1.36"].values()}
    later = {path for path, always in now.items() if always and path not in before}
    assert {path for path in later if path.rpartition(".")[0] in parents} == {"CSINode.status"}


def test_all_members_that_came_with_a_minor_are_known_to_earlier_ones() -> None:
    """An earlier minor finds their names in the bytes, and shows them to nobody."""
    before, now = all_members("1.36"), all_members("1.37")
    parents = before.keys() | {model.kind for model in MODELS["1.36"].values()}
    later: dict[str, set[str]] = {}
    for path in now.keys() - before.keys():
        parent, _, name = path.rpartition(".")
        if parent in parents or parent.removesuffix("[]") in parents:
            later.setdefault(path.partition(".")[0], set()).add(name)
    kinds = {GroupResource(group, plural): model.kind for (group, _, plural), model in MODELS["1.37"].items()}
    known = {kinds[each]: {*names} for each, names in _LATER.items()}
    with_probes = {kind for kind, names in known.items() if "evictionResponders" in names}
    later.pop("CSINode")
    assert {kind: names - {"protocol"} for kind, names in later.items()} == known
    assert {kind for kind, names in later.items() if "protocol" in names} == with_probes
