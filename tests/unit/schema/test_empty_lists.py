"""Empty lists and maps that rules tell from absent fields."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.release.minors import DEFAULT
from gateway.schema.catalog import catalog_of
from gateway.schema.empty_lists import _TOLD_APART, unstored, with_empty_fields
from tests.unit.validation.replaying import judged, resource_of

SCALER: dict[str, Any] = {
    "metadata": {"name": "a"},
    "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "a", "apiVersion": "apps/v1"}, "maxReplicas": 3},
}
SLICE: dict[str, Any] = {"driver": "a.b", "nodeName": "n", "pool": {"name": "p", "resourceSliceCount": 1}}
COUNTERS = [{"name": "c", "counters": {"x": {"value": "1"}}}]


def slice_of(**fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": "s"}, "spec": SLICE | fields}


def fields_of(written: str, sent: dict[str, Any], old: dict[str, Any] | None = None) -> list[str]:
    return [cause["field"] for cause in judged(written, "", sent, old, "1.37")]


def test_every_path_is_of_its_type() -> None:
    kinds = ("v1/pods", "v1/persistentvolumes", "v1/resourcequotas", "apps/v1/statefulsets", "batch/v1/jobs")
    later = (
        *("autoscaling/v2/horizontalpodautoscalers", "networking.k8s.io/v1/servicecidrs"),
        "resource.k8s.io/v1/resourceslices",
        *("apps/v1/daemonsets", "apps/v1/deployments", "apps/v1/replicasets", "v1/replicationcontrollers"),
        *("v1/persistentvolumeclaims", "v1/podtemplates", "batch/v1/cronjobs"),
    )
    types = {type_.name: type_ for type_ in (resource_of(each).model_version.type for each in (*kinds, *later))}
    early = catalog_of(DEFAULT).type_for("resource.k8s.io", "v1beta2", "ResourceSlice")
    types[early.name] = early
    for name, paths in _TOLD_APART.items():
        for path in paths:
            type_ = types[name]
            for part in path.split("."):
                type_ = type_.fields[part].type


def test_an_empty_field_that_was_sent_is_named_and_seen_by_rules() -> None:
    type_ = resource_of("resource.k8s.io/v1/resourceslices").model_version.type
    assert unstored(type_, slice_of(devices=[], sharedCounters=COUNTERS)) == ("spec.devices",)
    assert unstored(type_, slice_of(devices=None)) == unstored(type_, {"spec": []}) == ()
    stored: dict[str, Any] = {"spec": {"sharedCounters": COUNTERS}}
    assert with_empty_fields(stored, ["spec.devices"]) == {"spec": {"devices": [], "sharedCounters": COUNTERS}}
    assert stored == {"spec": {"sharedCounters": COUNTERS}}
    assert with_empty_fields(stored, ["data"]) is stored


@pytest.mark.parametrize("fields", [{"devices": [], "sharedCounters": COUNTERS}, {"devices": [], "sharedCounters": []}])
def test_a_slice_has_devices_or_counters(fields: dict[str, Any]) -> None:
    assert fields_of("resource.k8s.io/v1/resourceslices", slice_of(**fields)) == ["spec"]
    assert fields_of("resource.k8s.io/v1/resourceslices", slice_of(devices=[])) == []


@pytest.mark.parametrize("way", ["scaleUp", "scaleDown"])
def test_an_autoscaler_with_no_policies_gets_no_default(way: str) -> None:
    empty = {**SCALER, "spec": {**SCALER["spec"], "behavior": {way: {"policies": []}}}}
    assert fields_of("autoscaling/v2/horizontalpodautoscalers", empty) == [f"spec.behavior.{way}.policies"]
    empty["spec"]["behavior"][way]["policies"] = None
    assert fields_of("autoscaling/v2/horizontalpodautoscalers", empty) == []
