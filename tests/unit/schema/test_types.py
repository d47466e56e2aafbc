"""What is compiled from a type is stored on the type, and freed with it."""

import gc
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any

import pytest

from gateway.apply.comparison import compare
from gateway.apply.merge import merged
from gateway.apply.nonconformity import nonconformity
from gateway.apply.walks import applied_paths, every_path
from gateway.jsontypes import JsonObject
from gateway.release.minors import DEFAULT, catalog_file
from gateway.schema import catalog
from gateway.schema.catalog import type_of
from gateway.schema.decode import DecodeReport, decode
from gateway.schema.empty_lists import null_empty_lists
from gateway.schema.order import in_go_order
from gateway.schema.protobuf import read_message
from gateway.schema.types import Field, Omit, Type, TypeKind, compiled

USES: dict[str, Callable[[Type, dict[str, Any]], object]] = {
    "decode": lambda type_, value: decode(type_, value, DecodeReport()),
    "order": in_go_order,
    "empty lists": null_empty_lists,
    "protobuf": lambda type_, value: read_message(type_, b""),
    "comparison": lambda type_, value: compare(value, {**value, "more": 1}, type_),
    "merge": lambda type_, value: merged(value, {**value, "more": 1}, type_),
    "conformity": lambda type_, value: nonconformity(value, type_),
    "paths": lambda type_, value: (every_path(type_) or str)(value),
    "applied paths": lambda type_, value: (applied_paths(type_) or str)(value),
}


def custom_type() -> Type:
    """A kind that refers to itself and, in its metadata, to a type of the catalog."""
    string = Type(TypeKind.STRING, "string")
    root = Type(TypeKind.STRUCT, "v1.Tree")
    items = Type(TypeKind.LIST, "[]v1.Tree", elem=root, list_type="map", list_map_keys=("name",))
    for name, type_, number in (
        ("metadata", type_of("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"), 1),
        ("name", string, 2),
        ("more", Type(TypeKind.INT32, "int32"), 3),
        ("items", items, 4),
    ):
        root.fields[name] = Field(name, name, type_, Omit.EMPTY, number=number)
    return root


def test_a_type_that_nobody_holds_is_collected_with_all_that_was_compiled_from_it() -> None:
    type_ = custom_type()
    value = {"metadata": {"name": "x", "labels": {"a": "b"}}, "name": "n", "items": [{"name": "m", "items": []}]}
    for use in USES.values():
        use(type_, value)
    assert type_.compiled
    gone = weakref.ref(type_)
    del type_
    gc.collect()
    assert gone() is None


def test_what_is_compiled_is_made_once_a_type_and_none_counts_as_made() -> None:
    made: list[Type] = []

    @compiled
    def thing(type_: Type) -> None:
        made.append(type_)

    one, other = Type(TypeKind.STRING, "one"), Type(TypeKind.STRING, "other")
    for type_ in (one, other, one):
        thing(type_)
    assert made == [one, other]


def test_a_variant_of_a_type_shares_nothing_compiled_with_it() -> None:
    type_ = custom_type()
    every_path(type_)
    assert not replace(type_, atomic=True).compiled
    assert every_path(replace(type_, atomic=True)) is None


def test_a_thread_never_gets_the_stand_in_of_another_thread() -> None:
    begun, go_on = threading.Event(), threading.Event()
    root = custom_type()

    def make(type_: Type) -> str:
        if threading.current_thread() is slow:
            begun.set()
            go_on.wait()
        return f"{type_.name}({thing(type_.element() if type_.elem else type_.fields['items'].type)})"

    thing = compiled(make, meanwhile=lambda type_: "stand-in")
    found: list[str] = []
    slow = threading.Thread(target=lambda: found.append(thing(root)))
    slow.start()
    begun.wait()
    try:
        assert thing(root) == "v1.Tree([]v1.Tree(stand-in))"
    finally:
        go_on.set()
        slow.join()
    assert found == ["v1.Tree([]v1.Tree(stand-in))"]


def test_a_result_that_could_not_be_made_is_made_at_the_next_call() -> None:
    refusals = iter((True, False))

    def make(type_: Type) -> str:
        if next(refusals):
            raise ValueError
        return "made"

    thing = compiled(make, meanwhile=lambda type_: "stand-in")
    type_ = custom_type()
    with pytest.raises(ValueError):
        thing(type_)
    assert thing(type_) == "made"


def test_a_thread_never_gets_a_type_that_has_only_some_of_its_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()
    fresh, name = catalog.Catalog(catalog_file(DEFAULT)), "io.k8s.api.core.v1.Pod"
    original = fresh._field

    def field_of(facts: JsonObject) -> Field:
        if threading.current_thread() is slow:
            begun.set()
            go_on.wait()
        return original(facts)

    monkeypatch.setattr(fresh, "_field", field_of)
    build = fresh.type_of
    slow = threading.Thread(target=build, args=(name,))
    slow.start()
    begun.wait()
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(build, name)
        assert not wait([found], timeout=0.05).done
        go_on.set()
        assert {"spec", "status"} <= set(found.result().fields)
    slow.join()
