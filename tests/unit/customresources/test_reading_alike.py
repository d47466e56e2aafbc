"""Changes of a CRD after which its objects are read in the same way: they need not end a watch."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from gateway.customresources.reading_alike import ModelOrigin, reads_alike

SCHEMA = {
    "type": "object",
    "properties": {
        "description": {"type": "object", "properties": {"pattern": {"type": "string", "default": "a"}}},
        "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "integer"}}}},
        "map": {"type": "object", "additionalProperties": {"type": "string"}},
    },
}
SPEC = {
    "group": "g.example",
    "scope": "Namespaced",
    "names": {"plural": "things", "kind": "Thing"},
    "conversion": {"strategy": "None"},
    "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}}],
}
NAMES = {"plural": "things", "kind": "Thing", "listKind": "ThingList", "singular": "thing"}


def changed(place: str, value: Any) -> ModelOrigin:
    """The definition with something else at a place, whose steps are parted by slashes; None removes it."""
    found: dict[str, Any] = {"spec": deepcopy(SPEC), "names": dict(NAMES), "uid": "u"}
    at: Any = found
    *steps, last = place.replace("SCHEMA", "spec/versions/0/schema/openAPIV3Schema/properties").split("/")
    for step in steps:
        at = at[int(step) if isinstance(at, list) else step]
    if value is None:
        del at[last]
    else:
        at[last] = value
    return ModelOrigin(found["spec"], found["names"], found["uid"])


BEFORE = ModelOrigin(SPEC, NAMES, "u")


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("names/shortNames", ["t"]),
        ("names/categories", ["all"]),
        ("names/singular", "one"),
        ("spec/names/shortNames", ["t"]),
        ("spec/versions/0/additionalPrinterColumns", [{"name": "A", "type": "string", "jsonPath": ".a"}]),
        ("spec/versions/0/subresources", {"status": {}}),
        ("spec/versions/0/deprecated", True),
        ("SCHEMA/description/description", "what it is"),
        ("SCHEMA/description/required", ["pattern"]),
        ("SCHEMA/description/properties/pattern/pattern", "^a"),
        ("SCHEMA/description/properties/pattern/enum", ["a"]),
        ("SCHEMA/list/maxItems", 3),
        ("SCHEMA/list/items/x-kubernetes-validations", [{"rule": "true"}]),
        ("SCHEMA/list/items/properties/a/minimum", 3),
        ("SCHEMA/map/additionalProperties/maxLength", 3),
    ],
)
def test_what_is_shown_or_judges_is_no_matter(place: str, value: Any) -> None:
    assert changed(place, value) != BEFORE
    assert reads_alike(BEFORE, changed(place, value))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("uid", "another"),
        ("names/kind", "Other"),
        ("spec/conversion", {"strategy": "Webhook"}),
        ("spec/preserveUnknownFields", True),
        ("spec/versions/0/served", False),
        ("spec/versions/0/selectableFields", [{"jsonPath": ".a"}]),
        ("SCHEMA/more", {"type": "string"}),
        ("SCHEMA/map", None),
        ("SCHEMA/description/properties/pattern", None),
        ("SCHEMA/description/properties/pattern/default", "b"),
        ("SCHEMA/description/properties/pattern/nullable", True),
        ("SCHEMA/description/properties/pattern/type", "integer"),
        ("SCHEMA/description/x-kubernetes-preserve-unknown-fields", True),
        ("SCHEMA/list/items/properties/a/x-kubernetes-int-or-string", True),
        ("SCHEMA/list/items/properties/more", {"type": "string"}),
        ("SCHEMA/map/additionalProperties/type", "integer"),
    ],
)
def test_what_reads_otherwise_matters(place: str, value: Any) -> None:
    assert not reads_alike(BEFORE, changed(place, value))
    assert not reads_alike(changed(place, value), BEFORE)
