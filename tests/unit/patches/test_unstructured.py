"""Typed objects from maps: numbers are converted to their types; types with their own decoder get JSON."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.customresources.schema_type import object_type
from gateway.patches.unstructured import converted, mismatch
from gateway.schema.catalog import type_for
from gateway.schema.decode import DecodeReport

DEPLOYMENT = type_for("apps", "v1", "Deployment")


def spec(**members: Any) -> dict[str, Any]:
    return {"spec": members}


@pytest.mark.parametrize(
    ("given", "replicas"),
    [(2.0, 2), (4294967297, 1), (1e10, 1410065408), (1e20, 0), (-1e30, 0), (9223372036854775808.0, 0)],
)
def test_integers_are_cut_to_their_bits(given: float, replicas: int) -> None:
    assert converted(DEPLOYMENT, spec(replicas=given), DecodeReport())["spec"]["replicas"] == replicas


def test_what_64_bits_cannot_hold_is_the_least_of_them() -> None:
    pod = {"spec": {"terminationGracePeriodSeconds": 1e30}}
    found = converted(DEPLOYMENT, spec(template=pod), DecodeReport())
    assert found["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == -(1 << 63)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("generation", 2.5),
        ("deletionGracePeriodSeconds", 0.1),
        ("creationTimestamp", "yesterday"),
        ("creationTimestamp", 5),
        ("deletionTimestamp", "tomorrow"),
    ],
)
def test_of_a_custom_object_what_the_server_sets_may_be_of_a_wrong_type(name: str, value: Any) -> None:
    custom = {"apiVersion": "x.io/v1", "kind": "Widget", "metadata": {"name": "w", name: value}}
    found = converted(object_type({"type": "object"}, "Widget"), custom, DecodeReport())
    assert found == {"apiVersion": "x.io/v1", "kind": "Widget", "metadata": {"name": "w"}}


def test_a_generation_beyond_64_bits_is_applied_to_a_custom_object() -> None:
    custom = {"metadata": {"generation": 1e30}}
    assert converted(object_type({"type": "object"}, "Widget"), custom, DecodeReport())["metadata"]["generation"] < 0


def test_a_whole_float_is_an_integer_where_there_may_be_a_text() -> None:
    rolling = spec(strategy={"rollingUpdate": {"maxSurge": 3.0, "maxUnavailable": -0.0}})
    assert mismatch(rolling, DEPLOYMENT) is None
    found = converted(DEPLOYMENT, rolling, DecodeReport())
    assert found["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 3, "maxUnavailable": 0}
    assert mismatch(spec(strategy={"rollingUpdate": {"maxSurge": 1e20}}), DEPLOYMENT) == (
        "json: cannot unmarshal number 100000000000000000000 into Go value of type int32"
    )
