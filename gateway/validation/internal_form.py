"""Whole structs as error messages show them: JSON of Go's internal types, with all fields under their Go names.

`internal_types.json` has the fields, and `internal_types-MINOR.json` the types that differ in minors with a catalog of
their own; hack/internal_types.py describes how they are made and their format.
"""

from __future__ import annotations

import difflib
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from gateway.jsontypes import JsonObject, by_name, go_dumps, go_escaped, loads
from gateway.schema.catalog import served
from gateway.validation.field import Verbatim

_ABSENT: dict[str, Any] = {"": None, "s": "", "i": 0, "b": False}
_META = (
    *("name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp"),
    *("deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations", "ownerReferences", "finalizers"),
    "managedFields",
)
_SELECTOR = ("matchLabels", "matchExpressions")


Fields = list[list[str]]


def _types() -> dict[str, Fields]:
    return _of_variant(served().variant)


@lru_cache(maxsize=8)
def _of_variant(variant: str) -> dict[str, Fields]:
    here = Path(__file__).parent
    types: dict[str, Fields] = loads((here / "internal_types.json").read_bytes())
    return types | loads((here / f"internal_types{variant}.json").read_bytes()) if variant else types


def internal_order(type_name: str) -> list[str]:
    """The JSON names of a type's fields, in Go's order of the internal type."""
    return [key for _, key, _ in _types()[type_name]]


def internal_form(type_name: str, value: JsonObject, holder: JsonObject | None = None) -> dict[str, Any]:
    """The value with Go's names in Go's order, or with those of JSON for a type that the table lacks. `holder` is the
    object that the value is in.
    """
    if type_name not in _types():
        return {name: _plain(member) for name, member in value.items()}
    shown: dict[str, Any] = {}
    for name, key, kind in _types()[type_name]:
        if kind.endswith("..."):
            embedded = kind.removesuffix("...")
            meta = value.get("metadata") or {}
            is_meta = embedded == "ObjectMeta"
            shown |= {k: _plain(meta[k]) for k in _META if k in meta} if is_meta else internal_form(embedded, value)
            continue
        place = (holder or {}) if key.startswith("^") else value
        member = place.get(key.removeprefix("^"))
        shown[name] = _member(kind, member, value)
    return shown


def _member(kind: str, member: Any, holder: JsonObject) -> Any:
    if kind in _ABSENT:
        if member is None:
            return _ABSENT[kind]
        return _plain(member)
    if kind.startswith("[]"):
        return None if member is None else [internal_form(kind[2:], item) for item in member]
    if kind.startswith("*"):
        if member is None and kind != "*PodSecurityContext":
            return None
        return internal_form(kind[1:], member or {}, holder)
    return internal_form(kind, member or {})


def _plain(value: Any) -> Any:
    """A value of a type with JSON names: members are sorted, but those of label selectors have Go's order."""
    if isinstance(value, dict):
        keys = [key for key in _SELECTOR if key in value] or sorted(value)
        return {key: _plain(value[key]) for key in keys}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def free_json(value: Any) -> Verbatim:
    """The JSON of an object without a schema. Its members are sorted, but objects in it keep their order."""
    return go_json(by_name(value) if isinstance(value, dict) else value)


def go_json(value: Any) -> Verbatim:
    """A value's JSON as Go writes it."""
    return Verbatim(go_dumps(value))


def internal_json(type_name: str, value: JsonObject | None) -> Verbatim:
    """The JSON of `value` as a struct of that type."""
    return go_json(None if value is None else internal_form(type_name, value))


def template_json(type_name: str, value: JsonObject, grouped: bool) -> Verbatim:
    """The JSON of a pod's spec or template; `grouped` is whether the release has SchedulingGroupShown."""
    return go_json(_pod_form(type_name, value, grouped))


def _pod_form(type_name: str, value: JsonObject, grouped: bool) -> dict[str, Any]:
    """A pod's spec or template. Before scheduling groups came, it ended with an empty workload reference."""
    form = internal_form(type_name, value)
    spec: dict[str, Any] = form.get("Spec", form)
    if not grouped:
        del spec["SchedulingGroup"]
        spec["WorkloadRef"] = None
    return form


def internal_list_json(type_name: str, values: list[JsonObject] | None) -> Verbatim:
    return go_json(None if values is None else [internal_form(type_name, value) for value in values])


def selector_json(selector: JsonObject | None) -> Verbatim:
    """The JSON of a label selector."""
    return go_json(_plain(selector))


def difference(type_name: str, old: JsonObject, new: JsonObject) -> str:
    """The unified diff of the indented JSON of both values, as structs of that type."""
    before, after = (_lines(internal_form(type_name, value)) for value in (old, new))
    return "".join(list(difflib.unified_diff(before, after))[2:])


def pod_difference(old: JsonObject, new: JsonObject, grouped: bool) -> str:
    """The unified diff of two specs of pods; `grouped` is whether the release has SchedulingGroupShown."""
    before, after = (_lines(_pod_form("PodSpec", value, grouped)) for value in (old, new))
    return "".join(list(difflib.unified_diff(before, after))[2:])


def _lines(value: Any) -> list[str]:
    text = go_escaped(json.dumps(value, indent=1, ensure_ascii=False))
    return [f"{line}\n" for line in text.split("\n")]
