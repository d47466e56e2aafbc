"""Definitions of other servers in the OpenAPI v2 document never replace another definition of that name."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gateway.aggregation.extension_openapi import part_below
from gateway.openapi.gnostic import gnostic
from gateway.openapi.merge import KINDS, Merged
from gateway.openapi.others import Part

META = "io.k8s.Meta"


def encoded(_map: str, name: str, value: Any) -> bytes:
    return json.dumps(name).encode() + b":" + json.dumps(value).encode()


def member(found: bytes) -> Any:
    return next(iter(json.loads(b"{" + found + b"}").values()))


def merged(*parts: Part) -> Merged:
    own = {META: encoded("", META, {"description": "ours", "type": "object", KINDS: [{"kind": "A"}]})}
    made = Merged(own, encoded)
    for part in parts:
        made.add(part)
    return made


def part(path: str, **definitions: Any) -> Part:
    names = {name.replace("_", "."): value for name, value in definitions.items()}
    return Part({path: {"get": [{"$ref": f"#/definitions/{name}"} for name in names]}}, names)


def test_what_is_the_same_is_there_once_with_the_kinds_of_all() -> None:
    found = merged(
        part("/apis/a/v1/x", io_k8s_Meta={"description": "theirs", "type": "object", KINDS: [{"kind": "B"}]})
    )
    assert list(found.definitions) == [META]
    assert member(found.definitions[META])[KINDS] == [{"kind": "A"}, {"kind": "B"}]
    assert member(found.definitions[META])["description"] == "ours"


def test_what_differs_gets_a_name_of_its_own() -> None:
    other = {"type": "object", "properties": {"self": {"$ref": f"#/definitions/{META}"}}}
    found = merged(part("/apis/a/v1/x", io_k8s_Meta=other), part("/apis/b/v1/x", io_k8s_Meta={"type": "string"}))
    assert list(found.definitions) == [f"{META}_v2", f"{META}_v3"]
    own = member(found.definitions[f"{META}_v2"])["properties"]["self"]
    assert own == {"$ref": f"#/definitions/{META}_v2"} == member(found.paths["/apis/a/v1/x"])["get"][0]
    assert member(found.paths["/apis/b/v1/x"])["get"] == [{"$ref": f"#/definitions/{META}_v3"}]


def test_two_servers_with_the_same_type_share_it() -> None:
    one = {"type": "object", "properties": {"a": {"type": "string"}}}
    found = merged(part("/apis/a/v1/x", T=one, io_k8s_Meta=one), part("/apis/b/v1/x", T=one, io_k8s_Meta=one))
    assert sorted(found.definitions) == ["T", f"{META}_v2"]


def test_all_is_taken_but_what_only_other_paths_lead_to() -> None:
    said = part("/apis/a/v1/x", T={"items": {"$ref": "#/definitions/U"}})
    other = part("/apis/a/v2/x", W={"items": {"$ref": "#/definitions/U"}})
    definitions = {**said.definitions, **other.definitions, "U": {"type": "string"}, "V": {"type": "string"}}
    found = part_below("/apis/a/v1/", {"paths": {**said.paths, **other.paths}, "definitions": definitions})
    assert list(found.paths) == ["/apis/a/v1/x"]
    assert sorted(merged(found).definitions) == ["T", "U", "V"]
    assert part_below("/apis/b/v1/", {"paths": said.paths, "definitions": definitions}) == Part({}, {})


def test_what_is_no_description_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    deep: Any = {"type": "string"}
    for _ in range(500):
        deep = {"items": deep}
    found = merged(part("/apis/a/v1/x", T=deep), part("/apis/b/v1/x", U={"type": "string"}))
    assert list(found.paths) == ["/apis/b/v1/x"] and list(found.definitions) == ["U"]
    assert "the OpenAPI v2 document of an extension API server is left out" in caplog.text


def test_limits_that_are_no_numbers_leave_out_their_server_alone(caplog: pytest.LogCaptureFixture) -> None:
    """In protobuf, too: the document has all other servers' parts."""
    made = Merged({}, lambda map_, name, value: gnostic(2).content(map_, {name: value}))
    for server, limit in (("a", ["x"]), ("b", 1)):
        path = f"/apis/{server}/v1/x"
        made.add(Part({path: {"get": {"responses": {}}}}, {server: {"type": "integer", "maximum": limit}}))
    assert list(made.definitions) == ["b"] and list(made.paths) == ["/apis/b/v1/x"]
    assert "the OpenAPI v2 document of an extension API server is left out" in caplog.text
