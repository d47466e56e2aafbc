"""OpenAPI documents in protobuf are equal to those in JSON, when they are decoded by field numbers."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest
import yaml

import gateway.openapi
from gateway.jsontypes import loads
from gateway.kinds.builtin import builtin_registry
from gateway.openapi.documents import Documents
from gateway.openapi.gnostic import gnostic
from gateway.openapi.version2 import Version2

REGISTRY = builtin_registry()


class Reader:
    """Reads messages of one version as gnostic would, and makes JSON of them."""

    def __init__(self, version: int) -> None:
        facts = Path(gateway.openapi.__file__).with_name(f"version{version}_messages.json")
        self.messages: dict[str, list[Any]] = loads(facts.read_bytes())

    def read(self, name: str, data: bytes) -> Any:
        fields = {number: (key, type_, how) for key, number, type_, how in self.messages[name]}
        found = [(*fields[number], raw) for number, raw in parts(data)]
        values = [(key, how, type_, self.value(type_, raw)) for key, type_, how, raw in found]
        if name == "Any":
            return yaml.safe_load(values[0][3])
        if values and all(how == "oneof" for _, how, _, _ in values):
            return values[0][3]
        if all(how == "oneof" for _, _, _, how in self.messages[name]):
            return {}  # what gnostic has no place for
        if len(fields) == 1 and [how for _, _, how in fields.values()] == ["repeated"] and "Named" not in str(fields):
            return [each for *_, each in values] if name != "ItemsItem" else values[0][3]
        made: dict[str, Any] = {}
        for key, how, type_, each in values:
            if type_.startswith("Named") and how == "repeated":
                made[each["name"]] = each["value"]
            elif how == "repeated":
                made.setdefault(key, []).append(each)
            else:
                made[key] = each
        return made

    def value(self, type_: str, raw: Any) -> Any:
        match type_:
            case "string":
                return raw.decode()
            case "bool":
                return bool(raw)
            case "double":
                return struct.unpack("<d", raw)[0]
            case "int64":
                return raw
        made = self.read(type_, raw)
        if type_.startswith("Named"):
            made.setdefault("value", "")
        return made


def parts(data: bytes) -> list[tuple[int, Any]]:
    """Number and content of each field."""
    found: list[tuple[int, Any]] = []
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
        number, wire = divmod(varint(), 8)
        if wire == 0:
            found.append((number, varint()))
            continue
        size = 8 if wire == 1 else varint()
        found.append((number, data[position : position + size]))
        position += size
    return found


def normal(value: Any, key: str = "") -> Any:
    """JSON without empty values, which protobuf cannot tell from missing ones, and with one type in place of a list."""
    if isinstance(value, dict):
        made = {name: normal(each, name) for name, each in value.items()}
        return {name: each for name, each in made.items() if each not in (None, "", False, [])}
    if isinstance(value, list):
        return normal(value[0]) if key == "type" and len(value) == 1 else [normal(each) for each in value]
    return value


@pytest.mark.parametrize("place", ["api/v1", "apis/apps/v1", "apis/apiextensions.k8s.io/v1", "apis/autoscaling/v2"])
def test_version_3(place: str) -> None:
    documents = Documents(REGISTRY)
    in_json, in_protobuf = documents.document(place), documents.document(place, protobuf=True)
    assert in_json is not None and in_protobuf is not None
    assert normal(Reader(3).read("Document", in_protobuf)) == normal(loads(in_json))


def test_version_2() -> None:
    made = Version2(REGISTRY)
    document, in_protobuf = loads(made.document(made.served())), made.document(made.served(), protobuf=True)
    assert normal(Reader(2).read("Document", in_protobuf)) == normal(document)
    assert in_protobuf == gnostic(2).document(document)
