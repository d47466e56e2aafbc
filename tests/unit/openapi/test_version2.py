"""The v2 document holds every kind once, refers to nothing that isn't there, and says the same in both forms."""

from __future__ import annotations

from typing import Any

from gateway.jsontypes import loads
from gateway.kinds.builtin import builtin_registry
from gateway.openapi.version2 import json_document, protobuf_document

REGISTRY = builtin_registry()
DEFINITIONS = loads(json_document(REGISTRY))["definitions"]


def test_every_reference_leads_to_a_definition() -> None:
    assert set(_references(DEFINITIONS)) <= {f"#/definitions/{name}" for name in DEFINITIONS}


def test_every_kind_is_found_by_its_extension() -> None:
    kinds = {
        (each["group"], each["version"], each["kind"])
        for definition in DEFINITIONS.values()
        for each in definition.get("x-kubernetes-group-version-kind", ())
    }
    served = {each for each in REGISTRY.resources.values() if not each.subresource}
    assert {(each.group, each.version, each.kind) for each in served} <= kinds


def test_protobuf_has_all_definitions() -> None:
    sections = dict(_fields(protobuf_document(REGISTRY)))
    assert sections[1] == b"2.0"
    named = [dict(_fields(schema)) for _, schema in _fields(sections[9])]
    assert [each[1].decode() for each in named] == list(DEFINITIONS)


def _references(node: Any) -> list[str]:
    found: list[str] = []
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            found.append(node["$ref"])
        node = list(node.values())
    if isinstance(node, list):
        for each in node:
            found += _references(each)
    return found


def _fields(data: bytes) -> list[tuple[int, bytes]]:
    """Number and bytes of each length-delimited field."""
    found = []
    position = 0

    def varint() -> int:
        nonlocal position
        value = shift = 0
        while True:
            byte = data[position]
            position += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while position < len(data):
        tag = varint()
        assert tag & 7 == 2
        size = varint()
        found.append((tag >> 3, data[position : position + size]))
        position += size
    return found
