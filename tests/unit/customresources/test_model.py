"""The model of a CRD and its versions."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gateway.customresources.model import compile_large, model_of
from gateway.defaults.structural import MOST_MADE
from gateway.http.failures import as_status
from gateway.kinds.identity import GroupVersion
from gateway.kinds.model import Model
from gateway.schema.errors import MOST_DEFAULTS, TooManyDefaults
from gateway.time_limits import TakesLong
from gateway.writing.offload import offloaded

GROUP = "e.com"
V1, V2, BETA = {"name": "v1", "storage": True}, {"name": "v2"}, {"name": "v1beta1"}
OLD = {"deprecated": True}


def warning(name: str, *versions: dict[str, Any]) -> str:
    names = {"plural": "things", "kind": "Thing"}
    spec = {"group": GROUP, "scope": "Namespaced", "versions": [{"served": True, **each} for each in versions]}
    model = model_of({"metadata": {}, "spec": spec, "status": {"acceptedNames": names}}, lambda _: None)
    return model.versions[GroupVersion(GROUP, name)].warning


@pytest.mark.parametrize(
    ("name", "versions", "instead"),
    [
        ("v1beta1", (V1, {**BETA, **OLD}), "; use e.com/v1 Thing"),
        ("v1beta1", (V1, {**BETA, **OLD}, V2), "; use e.com/v2 Thing"),
        ("v1beta1", (V1, {**BETA, **OLD}, {**V2, "served": False}), "; use e.com/v1 Thing"),
        ("v1beta1", ({**V1, **OLD}, {**BETA, **OLD}), ""),
        ("v1", ({**V1, **OLD}, BETA), ""),
    ],
)
def test_a_deprecated_version_names_the_newest_in_its_place(
    name: str, versions: tuple[dict[str, Any], ...], instead: str
) -> None:
    assert warning(name, *versions) == f"{GROUP}/{name} Thing is deprecated{instead}"


@pytest.mark.parametrize("scope", ["Namespaced", "Cluster"])
def test_the_namespace_is_selectable_where_there_is_one(scope: str) -> None:
    spec = {"group": GROUP, "scope": scope, "versions": [{"served": True, **V1}]}
    names = {"plural": "things", "kind": "Thing"}
    model = model_of({"metadata": {}, "spec": spec, "status": {"acceptedNames": names}}, lambda _: None)
    selectable = model.versions[GroupVersion(GROUP, "v1")].selectable.names
    assert ("metadata.namespace" in selectable) is (scope == "Namespaced") and "metadata.name" in selectable


def test_a_deprecated_version_may_say_so_in_its_own_words() -> None:
    assert warning("v1beta1", V1, {**BETA, **OLD, "deprecationWarning": "gone soon"}) == "gone soon"
    assert warning("v1", V1, {**BETA, **OLD}) == ""


def with_properties(count: int) -> Model:
    """The model of a definition whose schema has so many properties."""
    return with_schema({f"p{number}": {"type": "string"} for number in range(count)})


def with_schema(properties: dict[str, Any]) -> Model:
    schema = {"openAPIV3Schema": {"type": "object", "properties": properties}}
    spec = {"group": GROUP, "scope": "Namespaced", "versions": [{"served": True, **V1, "schema": schema}]}
    names = {"plural": "things", "kind": "Thing"}
    return model_of({"metadata": {}, "spec": spec, "status": {"acceptedNames": names}}, lambda _: None)


@pytest.mark.parametrize(("count", "large"), [(20, False), (3_000, True)])
def test_a_large_schema_is_compiled_before_it_is_served_and_not_on_the_loop(count: int, large: bool) -> None:
    model = with_properties(count)

    async def on_the_loop() -> None:
        compile_large(model)

    async def beside_it() -> None:
        await offloaded(0, compile_large, model)

    if large:
        with pytest.raises(TakesLong):
            asyncio.run(on_the_loop())
        assert "type" not in vars(model.stored)
    asyncio.run(beside_it())
    assert ("type" in vars(model.stored)) is large


@pytest.mark.parametrize(
    "sent",
    [{"items": [{} for _ in range(5)]}, {"items": [None] * 5}, {"named": {str(number): {} for number in range(5)}}],
)
def test_an_object_gets_no_more_defaults_than_can_be_stored(sent: dict[str, Any]) -> None:
    text = "x" * (MOST_MADE // 4)
    item = {"type": "object", "default": {}, "properties": {"p": {"type": "string", "default": text}}}
    properties = {"items": {"type": "array", "items": item}, "named": {"type": "object", "additionalProperties": item}}
    default = with_schema(properties).stored.default
    few: dict[str, Any] = {"items": [{}, None, {}]}
    default(few)
    assert few == {"items": [{"p": text}] * 3}
    with pytest.raises(TooManyDefaults, match=f"more than {MOST_MADE} bytes of defaults; send fewer items") as raised:
        default(sent)
    assert as_status(raised.value).code == 400


EMBEDDED = {"apiVersion": "e.org/v1", "kind": "Part", "metadata": {"name": "a"}}


@pytest.mark.parametrize(
    ("schema", "sent"),
    [
        (
            {
                "properties": {
                    "apiVersion": {"type": "string", "default": "e.org/v1"},
                    "kind": {"type": "string", "default": "Part"},
                    "metadata": {"type": "object", "default": {"name": "a", "unknown": "u"}},
                }
            },
            {},
        ),
        (
            {
                "properties": {
                    "apiVersion": {"type": "string", "default": "e.org/v1"},
                    "kind": {"type": "string", "default": "Part"},
                    "metadata": {
                        "type": "object",
                        "properties": {key: {"type": "string", "default": "a"} for key in ("name", "unknown")},
                    },
                }
            },
            {"metadata": {}},
        ),
        ({"default": {**EMBEDDED, "metadata": {"name": "a", "unknown": "u"}}}, None),
    ],
    ids=["members", "members of metadata", "whole"],
)
@pytest.mark.parametrize("preserves", [False, True])
def test_embedded_objects_get_defaults_but_no_unknown_metadata(
    schema: dict[str, Any], sent: dict[str, Any] | None, preserves: bool
) -> None:
    part = {"type": "object", "x-kubernetes-embedded-resource": True, **schema}
    if preserves:
        part["x-kubernetes-preserve-unknown-fields"] = True
    obj: dict[str, Any] = {} if sent is None else {"part": dict(sent)}
    with_schema({"part": part}).stored.default(obj)
    assert obj == {"part": EMBEDDED}


def test_defaults_of_embedded_metadata_in_lists_and_maps_have_no_unknown_members() -> None:
    part = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    given = {**EMBEDDED, "metadata": {"name": "a", "unknown": "u"}}
    properties = {
        "listed": {"type": "array", "items": part, "default": [given]},
        "named": {"type": "object", "additionalProperties": part, "default": {"one": given}},
    }
    obj: dict[str, Any] = {}
    with_schema(properties).stored.default(obj)
    assert obj == {"listed": [EMBEDDED], "named": {"one": EMBEDDED}}


@pytest.mark.parametrize("nested", [False, True])
def test_a_short_object_gets_few_values_of_defaults(nested: bool) -> None:
    value = {"type": "string", "default": "v"}
    inner = {"type": "object", "default": {}, "properties": {"p": value}} if nested else value
    item = {"type": "object", "properties": {"p": inner}}
    version = with_schema({"items": {"type": "array", "items": item}}).stored
    default, stored = version.default, version.default_stored
    most = MOST_DEFAULTS // 3 if nested else MOST_DEFAULTS
    default({"items": [{} for _ in range(most)]})
    default({"items": [{"long": "x" * 80} for _ in range(3 * most)]})  # its size allows more
    with pytest.raises(
        TooManyDefaults, match=f"may add {MOST_DEFAULTS} values to an object of this size; send fewer"
    ) as raised:
        default({"items": [{} for _ in range(most + 1)]})
    assert as_status(raised.value).code == 400
    assert stored is not None
    stored({"items": [{} for _ in range(most + 1)]})  # the definition may have got its defaults later
