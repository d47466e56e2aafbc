"""The fields of plain new objects are those that a comparison finds."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.apply import managed_fields, update_managed
from gateway.apply.field_set import FieldSet
from gateway.jsontypes import JsonObject
from gateway.kinds.spec_templates import SpecTemplate
from gateway.schema.catalog import type_for
from gateway.schema.decode import DecodeReport, decode

KEYS = st.text("abz./-", min_size=1, max_size=4)
TEXTS = st.dictionaries(KEYS, st.text("xy ", max_size=3), max_size=4)
METADATA = st.fixed_dictionaries(
    {"name": st.just("a")},
    optional={
        "namespace": st.just("n"),
        "labels": TEXTS,
        "annotations": TEXTS,
        "generateName": st.sampled_from(["", "g"]),
        "finalizers": st.lists(KEYS, max_size=2),
        "uid": st.just("u"),
        "resourceVersion": st.just(""),
        "managedFields": st.just([]),
    },
)
OTHERS: dict[str, st.SearchStrategy[Any]] = {
    "data": st.dictionaries(KEYS, st.sampled_from(["", "eA=="]), max_size=4),
    "binaryData": st.dictionaries(KEYS, st.just("eA=="), max_size=2),
    "immutable": st.booleans(),
    "type": st.sampled_from(["", "Opaque"]),
    "status": st.sampled_from([{}, {"phase": "Running"}]),
    "spec": st.fixed_dictionaries(
        {"containers": st.lists(st.fixed_dictionaries({"name": KEYS, "image": KEYS}), max_size=2)},
        optional={"nodeName": KEYS},
    ),
}
RESETS: list[tuple[tuple[str, ...], ...]] = [(), (("status",),), (("spec",),), (("status", "phase"), ("metadata",))]


def _spend(size: int) -> None:
    """Any size is fine."""


def fields_of(obj: JsonObject, kind: str, reset: tuple[tuple[str, ...], ...], shared: SpecTemplate | None) -> Any:
    type_, new = type_for("", "v1", kind), copy.deepcopy(obj)
    update_managed(new, None, type_, manager="m", api_version="v1", now="t", reset=reset, known_member=shared)
    return new["metadata"].get("managedFields")


def in_the_long_way(*given: Any) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(managed_fields, "_fields_of_plain", lambda *_: None)
        return fields_of(*given)


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret", "Pod"])
@given(
    st.lists(st.tuples(METADATA, st.fixed_dictionaries({}, optional=OTHERS)), min_size=1, max_size=4),
    st.sampled_from(RESETS),
    st.booleans(),
)
def test_they_are_those_of_a_comparison(
    kind: str, made: list[tuple[JsonObject, JsonObject]], reset: tuple[tuple[str, ...], ...], of_template: bool
) -> None:
    spec = made[0][1].get("spec")
    mine, theirs = (
        (SpecTemplate(_spend), SpecTemplate(_spend))
        if of_template and kind == "Pod" and spec is not None
        else (None, None)
    )
    for metadata, others in made:
        sent = {"kind": kind, "apiVersion": "v1", "metadata": metadata, **others}
        if mine is not None:
            sent["spec"] = spec
        obj = decode(type_for("", "v1", kind), sent, DecodeReport())
        for _ in range(2):  # the second time it is remembered
            assert fields_of(obj, kind, reset, mine) == in_the_long_way(obj, kind, reset, theirs)


def test_what_is_remembered_is_not_changed_by_later_writes() -> None:
    obj: JsonObject = {"metadata": {"name": "a", "labels": {"a": "1"}}, "data": {"k": "v"}}
    first = fields_of(obj, "ConfigMap", (), None)
    kept: FieldSet = copy.deepcopy(first[0]["fieldsV1"])
    new = copy.deepcopy(obj) | {"data": {"k": "w", "l": "v"}}
    old = copy.deepcopy(obj)
    old["metadata"]["managedFields"] = new["metadata"]["managedFields"] = first
    update_managed(new, old, type_for("", "v1", "ConfigMap"), manager="m", api_version="v1", now="t")
    assert fields_of(obj, "ConfigMap", (), None)[0]["fieldsV1"] == kept
