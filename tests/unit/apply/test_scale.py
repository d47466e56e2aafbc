"""Managed fields of an object and of its Scale show the same owner of the replicas."""

from __future__ import annotations

from typing import Any

from gateway.apply.scale import to_parent, to_scale

PATHS = {"apps/v1": ("spec", "replicas")}


def entry(manager: str, operation: str, fields: Any, **members: Any) -> dict[str, Any]:
    return {
        "manager": manager,
        "operation": operation,
        "apiVersion": "apps/v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    } | members


REPLICAS: dict[str, Any] = {"f:spec": {"f:replicas": {}}}


def test_owners_of_the_replicas_own_them_in_the_scale() -> None:
    parent = [
        entry("a", "Apply", {"f:spec": {"f:paused": {}, "f:replicas": {}}}, time="t1"),
        entry("b", "Update", {"f:spec": {"f:paused": {}}}),
        entry("c", "Apply", REPLICAS, apiVersion="apps/v0"),
    ]
    assert to_scale(parent, PATHS) == [entry("a", "Apply", REPLICAS, apiVersion="autoscaling/v1", time="t1")]


def test_replicas_taken_through_the_scale_are_taken_in_the_object() -> None:
    parent = [entry("a", "Apply", {"f:spec": {"f:paused": {}, "f:replicas": {}}}, time="t1")]
    scale = [entry("s", "Update", REPLICAS, apiVersion="autoscaling/v1", time="t2", subresource="scale")]
    assert to_parent(parent, scale, "apps/v1", PATHS) == [
        entry("a", "Apply", {"f:spec": {"f:paused": {}}}, time="t1"),
        entry("s", "Update", REPLICAS, subresource="scale"),
    ]


def test_an_applier_that_still_owns_them_keeps_its_entry() -> None:
    parent = [entry("a", "Apply", REPLICAS, time="t1")]
    scale = [entry("a", "Apply", REPLICAS, apiVersion="autoscaling/v1", time="t1")]
    assert to_parent(parent, scale, "apps/v1", PATHS) == parent


def test_of_two_entries_of_one_manager_the_last_counts() -> None:
    parent = [entry("a", "Update", REPLICAS), entry("a", "Update", {"f:spec": {"f:paused": {}}})]
    assert to_scale(parent, PATHS) == []
