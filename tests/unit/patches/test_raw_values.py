"""Free-form JSON in objects that strategic merge patches and applies create."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.jsontypes import dumps
from gateway.patches.raw_values import rewritten
from gateway.schema.catalog import type_for

CLAIM = type_for("resource.k8s.io", "v1", "ResourceClaim")


def claim(parameters: Any) -> dict[str, Any]:
    config = [{"opaque": {"driver": "d.io", "parameters": {"a": 1}}}]
    config.append({"opaque": {"driver": "d.io", "parameters": parameters}})
    return {"metadata": {"name": "c", "labels": {"b": "1", "a": "1"}}, "spec": {"devices": {"config": config}}}


@pytest.mark.parametrize(
    ("sent", "written"),
    [
        ({"b": 1, "a": {"d": [{"f": 1, "e": 1}], "c": 1}}, b'{"a":{"c":1,"d":[{"e":1,"f":1}]},"b":1}'),
        ({"a": 1.0, "b": 1e3, "c": 1.5}, b'{"a":1,"b":1000,"c":1.5}'),
    ],
)
def test_it_is_written_by_the_order_of_its_keys_and_with_go_s_numbers(sent: Any, written: bytes) -> None:
    obj = claim(sent)
    before = dumps(obj)
    made = rewritten(CLAIM, obj)
    assert dumps(made["spec"]["devices"]["config"][1]["opaque"]["parameters"]) == written
    assert dumps(made["metadata"]) == dumps(obj["metadata"])  # all else is as it was
    assert made["spec"]["devices"]["config"][0] is obj["spec"]["devices"]["config"][0]
    assert dumps(obj) == before


def test_what_is_written_so_is_itself() -> None:
    obj = claim({"a": {"b": 1, "c": 2}})
    assert rewritten(CLAIM, obj) is obj
    pod = {"spec": {"containers": [{"name": "b", "image": "a"}]}}
    assert rewritten(type_for("", "v1", "Pod"), pod) is pod
