"""Bodies of more than 100 KB need at most so many times their size while they are read; a server keeps little of them.

What the reader and the decoder allocate is counted, so that no other load changes the result. Buffers of orjson's
writer do not count: it reserves address space that it does not touch.
"""

from __future__ import annotations

import contextlib
import tracemalloc
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from apiserver_gateway.testing import ApiServer
from gateway import jsontypes
from gateway.customresources.model import model_of
from gateway.jsontypes import sorted_by_name
from gateway.patches import json_patch, merge_patch, strategic_merge_patch
from gateway.schema import body
from gateway.schema.catalog import type_for
from gateway.schema.decode import DecodeReport, decode, parse_to_decode
from gateway.schema.errors import most_defaults
from gateway.schema.outside import read_yaml
from tests.hostile.probe import held_at_most, kept_at_most
from tests.hostile.test_bodies import YAML, send

SIZE = 120_000  # bytes
TIMES = 55  # bytes of memory for a byte
HELD_ONCE = 50  # the same for a patch
HELD = 0.1  # seconds
ROUNDS = 5
PODS, MAPS = "/api/v1/namespaces/default/pods?dryRun=All", "/api/v1/namespaces/default/configmaps?dryRun=All"


def many(head: str, entry: str, tail: str, *, size: int = SIZE) -> bytes:
    """A text with as many entries, separated by commas, as fit into the size. `{}` in an entry is its number."""
    count = (size - len(head + tail)) // (len(entry.replace("{n}", "00000")) + 1)
    return (head + ",".join(entry.replace("{n}", f"{number:05}") for number in range(count)) + tail).encode()


JSONS = {
    "empty containers": ("Pod", '{"spec":{"containers":[', "{}", "]}}"),
    "nulls": ("Pod", '{"spec":{"containers":[', "null", "]}}"),
    "empty volumes": ("Pod", '{"spec":{"volumes":[', "{}", "]}}"),
    "containers, one wrong": ("Pod", '{"spec":{"containers":[1,', "{}", "]}}"),
    "unknown objects": ("Pod", '{"x":[', "{}", "]}"),
    "unknown lists": ("Pod", '{"x":[', "[]", "]}"),
    "numbers beside a wrong member": ("Pod", '{"spec":1,"x":[', "1", "]}"),
    "objects beside a repeated member": ("Pod", '{"spec":{},"spec":{},"x":[', "{}", "]}"),
    "nested ones beside a repeated member": ("Pod", '{"spec":{},"spec":{},"x":[', '{"a":{}}', "]}"),
    "floats beside a repeated member": ("Pod", '{"spec":{},"spec":{},"x":[', "1e1", "]}"),
    "members": ("ConfigMap", '{"data":{', '"{n}":""', "}}"),
    "wrong members": ("ConfigMap", '{"data":{', '"{n}":1', "}}"),
    "members beside a repeated one": ("ConfigMap", '{"x":1,"x":{', '"{n}":{}', "}}"),
}
YAMLS = {
    "aliases of an object": ("Pod", "x: &a {}\nspec: {containers: [", "*a", "]}"),
    "aliases of a list": ("Pod", "x: &a [1,2,3,4,5,6,7,8,9]\nspec: {containers: [", "*a", "]}"),
    "members": ("ConfigMap", "data: {", "a{n}", "}"),
    "lists": ("ConfigMap", "x: [", "[]", "]"),
    "anchors": ("ConfigMap", "x: [", "&a{n} a", "]"),
    "repeated members": ("ConfigMap", "x: {", "a: ", "}"),
}


class _Json:
    """orjson, without the memory that its writer reserves."""

    loads = staticmethod(orjson.loads)
    most = 0

    def dumps(self, value: Any) -> bytes:
        self.most = max(self.most, tracemalloc.get_traced_memory()[1])
        written = bytes(bytearray(orjson.dumps(value)))
        tracemalloc.reset_peak()
        return written


def peak(read: Callable[[bytes], object], json: _Json, data: bytes) -> int:
    """The most bytes that are allocated at a time while `read` reads the data."""
    json.most = 0
    tracemalloc.start()
    with contextlib.suppress(ValueError):
        read(data)
    found = max(json.most, tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()
    return found


@pytest.mark.parametrize(("form", "name"), [*(("json", name) for name in JSONS), *(("yaml", name) for name in YAMLS)])
def test_a_body_needs_little_memory_while_it_is_read(monkeypatch: pytest.MonkeyPatch, form: str, name: str) -> None:
    kind, *parts = (JSONS if form == "json" else YAMLS)[name]
    data, type_ = many(*parts), type_for("", "v1", kind)
    json = _Json()
    monkeypatch.setattr(body, "orjson", json)

    def read(sent: bytes) -> object:
        value = parse_to_decode(sent)[0] if form == "json" else read_yaml(sent)[0]
        return value, decode(type_, value, DecodeReport(), len(sent))

    peak(read, json, many(*parts, size=1000))  # compiles the type
    found = peak(read, json, data) / len(data)
    assert found <= TIMES, f"a byte takes {found:.0f} bytes, {TIMES} are allowed"  # counted: no chance is in it


@pytest.mark.parametrize("size", [100_000, SIZE, 4 * SIZE])
def test_defaults_of_a_custom_object_need_little_memory(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """The largest number of items that an object of the size may have, and one item for each three bytes."""
    leaf = {"type": "object", "default": {}, "properties": {"b": {"type": "string", "default": "x"}}}
    own = {"a": {"type": "object", "default": {}, "properties": {"c": leaf}}, "z": {"type": "string"}}
    item = {"type": "object", "properties": own}
    schema = {"type": "object", "properties": {"items": {"type": "array", "items": item}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "things", "kind": "Thing"}
    spec = {"group": "ex.io", "scope": "Namespaced", "versions": [version]}
    stored = model_of({"metadata": {}, "spec": spec, "status": {"acceptedNames": names}}, lambda _: None).stored

    def read(sent: bytes) -> object:
        obj = stored.decode(parse_to_decode(sent)[0], DecodeReport())
        stored.default(obj)
        return obj

    json = _Json()
    monkeypatch.setattr(body, "orjson", json)
    monkeypatch.setattr(jsontypes, "orjson", json)
    read(many('{"items":[', "{}", "]}", size=100))
    enough = most_defaults(size) // 5 - 1
    fitting = b'{"items":[' + b"{}," * enough + b'{"z":"' + b"z" * (size - 3 * enough - 20) + b'"}]}'
    for data in (many('{"items":[', "{}", "]}", size=size), fitting):
        found = peak(read, json, data) / len(data)
        assert found <= TIMES, f"a byte takes {found:.0f} bytes, {TIMES} are allowed"


PATCHES = {
    "merge patch": (merge_patch, '{"x":', "}"),
    "strategic merge patch": (strategic_merge_patch, '{"x":', "}"),
    "JSON patch": (json_patch, '[{"op":"add","path":"/x","value":', "}]"),
}


@pytest.mark.parametrize("entry", ["{}", "[]", '{"a":{}}', '{"b":1,"a":2}'])
@pytest.mark.parametrize("name", PATCHES)
def test_a_patch_is_held_once(monkeypatch: pytest.MonkeyPatch, name: str, entry: str) -> None:
    """What a patch adds is shared with the result, and with the copy whose members are sorted for messages."""
    module, head, tail = PATCHES[name]
    json = _Json()
    monkeypatch.setattr(body, "orjson", json)
    old, type_ = {"metadata": {"name": "a"}}, type_for("", "v1", "ConfigMap")

    def patched(sent: bytes) -> object:
        patch, _ = module.parse(sent, True)
        result = module.apply(old, patch, type_)
        return patch, result, sorted_by_name(result)

    data = many(f"{head}[", entry, f"]{tail}")
    patched(many(f"{head}[", entry, f"]{tail}", size=1000))
    found = peak(patched, json, data) / len(data)
    assert found <= HELD_ONCE, f"a byte takes {found:.0f} bytes, {HELD_ONCE} are allowed"


@pytest.mark.parametrize("name", JSONS)
def test_nothing_of_large_bodies_is_kept(server: ApiServer, name: str) -> None:
    kind, *parts = JSONS[name]
    data = many(*parts, size=500_000)
    with held_at_most(server, HELD), kept_at_most(server, ROUNDS * len(data)):
        for _ in range(ROUNDS):
            assert send(server, "POST", PODS if kind == "Pod" else MAPS, data)[0] in (400, 422)


@pytest.mark.parametrize("name", YAMLS)
def test_nothing_of_yaml_is_kept(server: ApiServer, name: str) -> None:
    kind, *parts = YAMLS[name]
    data = many(*parts)
    with held_at_most(server, HELD), kept_at_most(server, ROUNDS * len(data)):
        for _ in range(ROUNDS):
            assert send(server, "POST", PODS if kind == "Pod" else MAPS, data, YAML)[0] in (400, 422)
