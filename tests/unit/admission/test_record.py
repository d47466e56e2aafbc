"""Plug-ins return changed copies: the object that a record has stays as it is."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.admission.chain import compile_chain
from gateway.admission.plugins import plugin_of
from gateway.admission.record import Admission, record_of
from gateway.http.request_info import RequestInfo
from gateway.jsontypes import dumps
from gateway.kinds.attributes import Attributes, Operation
from gateway.kinds.builtin import builtin_registry
from gateway.kinds.write_context import WriteContext
from tests.unit.admission.parts import parts_on
from tests.unit.verbs.conftest import ADMIN, NAMESPACE
from tests.unit.verbs.fake_store import FakeStore

REGISTRY = builtin_registry()
LABELS = {"topology.kubernetes.io/zone": "z"}
ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/node-selector": "a=b",
    "scheduler.alpha.kubernetes.io/defaultTolerations": '[{"key":"k"}]',
}
DEFAULT = {"storageclass.kubernetes.io/is-default-class": "true", "ingressclass.kubernetes.io/is-default-class": "true"}
STORED: dict[str, Any] = {
    "namespaces/default": {**NAMESPACE, "metadata": {"name": "default", "annotations": ANNOTATIONS}},
    "serviceaccounts/default/default": {"metadata": {"name": "default"}, "imagePullSecrets": [{"name": "s"}]},
    "nodes/n": {"metadata": {"name": "n", "labels": LABELS}},
    "storageclasses/c": {"metadata": {"name": "c", "annotations": DEFAULT}},
    "ingressclasses/c": {"metadata": {"name": "c", "annotations": DEFAULT}},
    "priorityclasses/c": {"metadata": {"name": "c"}, "value": 7},
    "runtimeclasses/c": {
        "metadata": {"name": "c"},
        "handler": "h",
        "overhead": {"podFixed": {"cpu": "1"}},
        "scheduling": {"nodeSelector": {"r": "s"}, "tolerations": [{"key": "t"}]},
    },
    "limitranges/default/l": {
        "metadata": {"name": "l", "uid": "u", "resourceVersion": "1"},
        "spec": {"limits": [{"type": "Container", "default": {"cpu": "1"}}]},
    },
}
POD: dict[str, Any] = {
    "kind": "Pod",
    "apiVersion": "v1",
    "metadata": {"name": "p", "labels": {"a": "b"}},
    "spec": {
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1", "example.com/x": "1"}}}],
        "volumes": [{"name": "v", "image": {"reference": "r"}}],
        "tolerations": [{"key": "o"}],
        "nodeSelector": {"own": "1"},
        "nodeName": "n",
        "runtimeClassName": "c",
        "priorityClassName": "c",
        "resources": {"requests": {"memory": "1"}},
    },
}
OTHERS: dict[str, dict[str, Any]] = {
    "TaintNodesByCondition": {"kind": "Node", "spec": {"taints": []}},
    "DefaultStorageClass": {"kind": "PersistentVolumeClaim", "spec": {"accessModes": []}},
    "StorageObjectInUseProtection": {"kind": "PersistentVolume", "spec": {}},
    "DefaultIngressClass": {"kind": "Ingress", "apiVersion": "networking.k8s.io/v1", "spec": {}},
}
CHANGING = (
    *("LimitRanger", "ServiceAccount", "TaintNodesByCondition", "AlwaysPullImages", "PodNodeSelector", "Priority"),
    *("DefaultTolerationSeconds", "PodTolerationRestriction", "ExtendedResourceToleration", "DefaultStorageClass"),
    *("StorageObjectInUseProtection", "RuntimeClass", "DefaultIngressClass", "PodTopologyLabels"),
)


def store() -> FakeStore:
    found = FakeStore()
    for key, obj in STORED.items():
        plural, _, name = key.partition("/")
        kind = next(each for (_, _, resource, _), each in REGISTRY.resources.items() if resource == plural)
        stored = {"apiVersion": kind.storage_version, **obj, "metadata": {"uid": "u", **obj["metadata"]}}
        found._put(f"/registry/{kind.storage_prefix}/{name}".encode(), dumps(stored))
    return found


async def mutated(name: str, obj: dict[str, Any], old: dict[str, Any] | None = None) -> Admission:
    """The record after the mutating half of one plug-in, for a create or an update."""
    version = obj["apiVersion"].rpartition("/")
    resource = next(
        each
        for each in REGISTRY.resources.values()
        if (each.group, each.version, each.kind, each.subresource) == (version[0], version[2], obj["kind"], "")
    )
    chain = compile_chain([plugin_of(name)], resource, parts_on(store(), REGISTRY, enabled={name}))
    operation = Operation.CREATE if old is None else Operation.UPDATE
    info = RequestInfo(operation.value.lower(), "", True, namespace="default", resource=resource.resource)
    context = WriteContext(Attributes(ADMIN, info), resource, "default", "p")
    return await chain.mutate(record_of(context, operation, obj, old, resource, "p"))


@pytest.mark.parametrize("name", CHANGING)
async def test_a_plugin_changes_a_copy(name: str) -> None:
    obj = {"apiVersion": "v1", "metadata": {"name": "p"}, **OTHERS[name]} if name in OTHERS else POD
    before = dumps(obj)
    after = await mutated(name, obj)
    assert dumps(obj) == before != dumps(after.obj)
    assert not after.replaced, "the object is the one that was sent, with additions"


@pytest.mark.parametrize("name", CHANGING)
async def test_a_second_run_changes_nothing(name: str) -> None:
    obj = {"apiVersion": "v1", "metadata": {"name": "p"}, **OTHERS[name]} if name in OTHERS else POD
    settled = (await mutated(name, obj)).obj
    assert settled is not None
    assert dumps((await mutated(name, settled)).obj) == dumps(settled)


async def test_versions_of_the_object_before_are_not_those_of_its_changed_copy() -> None:
    after = await mutated("Priority", POD)
    before = await after.as_requested()
    assert (await after.with_spec(priority=8).as_requested()).obj != before.obj
