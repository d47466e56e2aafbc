"""Structural types, as definitions of custom resources have them: pruning, nulls, defaults, order, field sets."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.apply import server_side_apply, update_managed
from gateway.apply.comparison import compare
from gateway.apply.merge import merged
from gateway.apply.nonconformity import nonconformity
from gateway.apply.removal import without
from gateway.apply.walks import applied_paths, every_path
from gateway.defaults.structural import apply_structural_defaults
from gateway.jsontypes import dumps, identical, loads
from gateway.schema.body import parse_to_decode
from gateway.schema.catalog import META, type_of
from gateway.schema.decode import DecodeError, DecodeReport, decode
from gateway.schema.order import in_go_order
from gateway.schema.types import Field, Omit, Type, TypeKind

STRING = Type(TypeKind.STRING, "string", structural=True)
NUMBER = Type(TypeKind.INT64, "integer", structural=True)
INT_OR_STRING = Type(TypeKind.INT_OR_STRING, "int-or-string", structural=True)
FREE = Type(TypeKind.ANY, "object", structural=True, preserves=True)


def struct(fields: dict[str, Type] | None = None, **facts: Any) -> Type:
    made = {name: Field(name, name, type_, Omit.NIL, default=type_.default) for name, type_ in (fields or {}).items()}
    return Type(TypeKind.STRUCT, "object", fields=made, structural=True, **facts)


def items(elem: Type, **facts: Any) -> Type:
    return Type(TypeKind.LIST, "array", elem=elem, structural=True, **facts)


def defaulted(kind: TypeKind, default: Any, **facts: Any) -> Type:
    return Type(kind, kind.value, structural=True, default=default, **facts)


def resource(fields: dict[str, Type], **facts: Any) -> Type:
    own = {"apiVersion": STRING, "kind": STRING, "metadata": type_of(META + "ObjectMeta")}
    return struct({**own, **fields}, embedded=True, **facts)


def read(type_: Type, value: Any) -> tuple[Any, list[str]]:
    report = DecodeReport()
    body, _ = parse_to_decode(json.dumps(value).encode())
    return decode(type_, body, report), report.problems


def test_what_the_schema_does_not_know_is_pruned_and_told_sorted_by_path() -> None:
    type_ = struct({"a": STRING, "l": items(struct({"x": NUMBER})), "m": struct(elem=struct({"y": STRING}))})
    value = {"z": 1, "m": {"k": {"y": "", "no": 1}}, "l": [{"x": 1}, {"no": None, "x": 2}], "b": {"c": 1}}
    result, problems = read(type_, value)
    assert result == {"m": {"k": {"y": ""}}, "l": [{"x": 1}, {"x": 2}]}
    assert problems == [f'unknown field "{path}"' for path in ("b", "l[1].no", "m.k.no", "z")]


def test_duplicates_are_told_before_unknown_fields_and_the_last_one_counts() -> None:
    body, _ = parse_to_decode(b'{"no":1,"s":{"a":"1","a":"2"},"s":{"b":{"c":1,"c":2}}}')
    report = DecodeReport()
    type_ = struct({"s": struct({"a": STRING, "b": FREE})})
    assert decode(type_, body, report) == {"s": {"b": {"c": 2}}}
    assert report.problems == [
        'duplicate field "s.a"', 'duplicate field "s"', 'duplicate field "s.b.c"', 'unknown field "no"',
    ]  # fmt: skip


def test_unknown_fields_are_preserved_but_not_below_specified_fields() -> None:
    type_ = struct({"known": struct({"a": STRING})}, preserves=True)
    value = {"known": {"a": "", "no": 1}, "other": {"b": [{"c": None}]}}
    assert read(type_, value) == (
        {"known": {"a": ""}, "other": {"b": [{"c": None}]}},
        ['unknown field "known.no"'],
    )
    in_list = items(struct({"known": struct({"a": STRING})}), preserves=True)
    value = {"l": [{"other": 1, "known": {"no": 1}}]}
    assert read(struct({"l": in_list}), value) == (
        {"l": [{"other": 1, "known": {}}]},
        ['unknown field "l[0].known.no"'],
    )


def test_properties_and_additional_properties_stand_side_by_side() -> None:
    type_ = struct({"a": struct({"x": STRING})}, elem=struct({"y": STRING}))
    value = {"a": {"x": "", "y": ""}, "b": {"x": "", "y": ""}}
    assert read(type_, value)[0] == {"a": {"x": ""}, "b": {"y": ""}}


def test_json_types_are_for_validation_to_judge() -> None:
    type_ = struct({"s": STRING, "n": NUMBER, "o": struct({"a": STRING}), "l": items(NUMBER), "i": INT_OR_STRING})
    value = {"s": 1, "n": "x", "o": [1], "l": "a", "i": True}
    assert read(type_, value) == (value, [])
    value = {"s": {"a": 1}, "o": [{"a": 1}, 2], "l": {"a": 1}}
    assert read(type_, value) == (
        {"s": {}, "o": [{}, 2], "l": {}},
        ['unknown field "l.a"', 'unknown field "o[0].a"', 'unknown field "s.a"'],
    )


def test_an_embedded_resource_has_metadata_like_any_object() -> None:
    type_ = struct({"template": resource({"spec": struct({"a": STRING})})})
    metadata = {"name": "x", "labels": None, "no": 1, "creationTimestamp": None, "finalizers": []}
    value = {"template": {"kind": "K", "apiVersion": "v1", "metadata": metadata, "spec": {"a": "", "no": 1}, "no": 1}}
    result, problems = read(type_, value)
    assert result == {"template": {"kind": "K", "apiVersion": "v1", "metadata": {"name": "x"}, "spec": {"a": ""}}}
    assert problems == [f'unknown field "template.{path}"' for path in ("no", "spec.no", "metadata.no")]


def test_duplicate_fields_are_reported_before_unknown_fields() -> None:
    """As a kube-apiserver told it of this object: it looks for duplicates before it knows what is unknown."""
    inner = '{"metadata":{"zz":{"a":1,"a":2},"labels":{"l":"","l":""}},"y":1}'
    text = f'{{"z":[{{"b":1,"b":2}}],"z":{{"c":1,"c":2}},"e":{inner},"metadata":{{"no":{{"d":1,"d":2}}}},"b":1}}'
    report, (body, _) = DecodeReport(), parse_to_decode(text.encode())
    decode(resource({"e": resource({})}), body, report)
    duplicates = ("z[0].b", "z", "z.c", "e.metadata.zz.a", "e.metadata.labels.l", "metadata.no.d")
    unknown = ("metadata.no", "b", "e.y", "z", "e.metadata.zz")
    assert report.problems == [
        *(f'duplicate field "{path}"' for path in duplicates),
        *(f'unknown field "{path}"' for path in unknown),
    ]


@pytest.mark.parametrize("written", ["10", "10.0", "1e1", "1E1", "100e-1"])
def test_whole_numbers_of_metadata_may_have_fractions_and_exponents(written: str) -> None:
    """kube-apiserver encodes the metadata of custom objects again before it decodes it as ObjectMeta."""
    report, type_ = DecodeReport(), resource({"embedded": resource({})})
    text = '{"metadata":{"generation":%s,"no":1},"embedded":{"metadata":{"generation":%s}}}'
    body, _ = parse_to_decode((text % (written, written)).encode())
    assert decode(type_, body, report) == {
        "metadata": {"generation": 10},
        "embedded": {"metadata": {"generation": 10}},
    }
    assert report.problems == ['unknown field "metadata.no"']


@pytest.mark.parametrize(
    ("written", "told"),
    [("2.5", "2.5"), ("1e-1", "0.1"), ("1e30", "1e+30"), ("9223372036854775808", "9223372036854776000")],
)
def test_numbers_of_metadata_are_told_as_go_writes_them(written: str, told: str) -> None:
    body, _ = parse_to_decode(b'{"metadata":{"generation":%s}}' % written.encode())
    with pytest.raises(DecodeError, match=f"cannot unmarshal number {re.escape(told)} into Go struct field"):
        decode(resource({}), body, DecodeReport())


def settled(type_: Type, value: Any) -> Any:
    apply_structural_defaults(type_, value)
    return value


def test_nulls_stay_where_they_are_nullable_and_else_go_or_become_the_default() -> None:
    type_ = struct(
        {
            "plain": STRING,
            "nullable": Type(TypeKind.STRING, "string", structural=True, nullable=True),
            "defaulted": defaulted(TypeKind.STRING, "d"),
            "both": defaulted(TypeKind.STRING, "d", nullable=True),
            "list": items(STRING),
            "map": struct(elem=STRING),
            "free": FREE,
        }
    )
    nulls = {"plain": None, "nullable": None, "defaulted": None, "both": None, "free": {"a": None}}
    assert read(type_, nulls)[0] == nulls
    assert settled(type_, {**nulls, "list": [None], "map": {"a": None, "b": ""}}) == {
        "nullable": None, "defaulted": "d", "both": None, "free": {"a": None}, "list": [None], "map": {"b": ""},
    }  # fmt: skip


def test_defaults_reach_what_defaults_have_made_and_are_not_shared() -> None:
    inner = struct({"a": defaulted(TypeKind.LIST, [{}], elem=struct({"b": defaulted(TypeKind.INT64, 1)}))}, default={})
    type_ = struct({"s": inner, "l": items(defaulted(TypeKind.INT64, 7))}, elem=defaulted(TypeKind.STRING, "x"))
    one, other = settled(type_, {"l": [None, 1], "more": None}), settled(type_, {})
    assert one == {"l": [7, 1], "more": "x", "s": {"a": [{"b": 1}]}}
    one["s"]["a"].append(2)
    assert other == {"s": {"a": [{"b": 1}]}}


def test_members_are_sorted_as_those_of_go_maps() -> None:
    type_ = struct({"z": struct({"b": STRING, "a": STRING}), "a": FREE}, elem=FREE)
    value = {"z": {"b": "", "a": ""}, "x": {"d": [{"f": 1, "e": 1}], "c": 1}, "a": {"h": 1, "g": 1}}
    assert json.dumps(in_go_order(type_, value)) == json.dumps(value, sort_keys=True)


LEAF: dict[str, Any] = {}


def test_field_sets_see_what_properties_and_additional_properties_say() -> None:
    atomic = struct({"a": STRING}, atomic=True)
    keyed = items(struct({"id": STRING}), list_type="map", list_map_keys=("id",))
    type_ = struct({"s": struct({"a": STRING}), "at": atomic, "i": INT_OR_STRING}, elem=keyed)
    value = {"s": {"a": "1"}, "at": {"a": "1"}, "i": 1, "more": [{"id": "x"}]}
    every, applied = every_path(type_), applied_paths(type_)
    assert every and applied
    assert every(value) == {
        ".": LEAF,
        "f:at": LEAF,
        "f:i": LEAF,
        "f:more": {".": LEAF, 'k:{"id":"x"}': {".": LEAF, "f:id": LEAF}},
        "f:s": {".": LEAF, "f:a": LEAF},
    }
    assert applied(value) == {
        "f:s": {"f:a": LEAF},
        "f:at": LEAF,
        "f:i": LEAF,
        "f:more": {".": LEAF, 'k:{"id":"x"}': {".": LEAF, "f:id": LEAF}},
    }
    assert without(value, {"f:more": {'k:{"id":"x"}': LEAF}}, type_) == {**value, "more": None}
    assert merged({"more": [{"id": "y"}]}, {"more": [{"id": "x"}]}, type_) == {"more": [{"id": "y"}, {"id": "x"}]}
    assert compare({"more": [{"id": "y"}]}, {"more": []}, type_).removed == {
        "f:more": {'k:{"id":"y"}': {".": LEAF, "f:id": LEAF}}
    }


@pytest.mark.parametrize("facts", [{"preserves": True}, {"lenient": True}, {"elem": FREE}])
def test_an_apply_may_name_unknown_members_only_where_the_schema_is_open(facts: dict[str, Any]) -> None:
    closed, opened = struct({"a": STRING}), struct({"a": STRING}, **facts)
    assert nonconformity({"b": {"c": 1}}, closed) == ".b: field not declared in schema"
    assert nonconformity({"b": {"c": 1}, "a": "x"}, opened) is None
    assert nonconformity({"b": {"c": 1}, "a": {}}, opened) is not None
    assert nonconformity({"b": 1}, struct(elem=STRING)) is not None


SCALARS = st.one_of(st.integers(2, 5), st.sampled_from(["", "x"]), st.booleans(), st.none())
NAMES = st.sampled_from(["a", "b", "c"])
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=8
)
DEFAULTS = st.none() | st.sampled_from(["x", 1])
LEAVES = st.builds(
    lambda kind, nullable, default: Type(kind, kind.value, structural=True, nullable=nullable, default=default),
    st.sampled_from([TypeKind.STRING, TypeKind.INT64, TypeKind.INT_OR_STRING, TypeKind.ANY]), st.booleans(), DEFAULTS,
)  # fmt: skip


def containers(inner: st.SearchStrategy[Type]) -> st.SearchStrategy[Type]:
    structs = st.builds(
        lambda fields, elem, preserves, nullable: struct(fields, elem=elem, preserves=preserves, nullable=nullable),
        st.dictionaries(NAMES, inner, max_size=3), st.none() | inner, st.booleans(), st.booleans(),
    )  # fmt: skip
    return structs | st.builds(items, inner)


TYPES = st.builds(
    lambda fields, elem, preserves: struct(fields, elem=elem, preserves=preserves),
    st.dictionaries(NAMES, st.recursive(LEAVES, containers, max_leaves=5), min_size=1, max_size=3),
    st.none() | LEAVES,
    st.booleans(),
)
OBJECTS = st.dictionaries(NAMES, JSON, max_size=3)


def bare(value: Any) -> Any:
    """What is left of a value for which the schema does not provide."""
    if isinstance(value, list):
        return [bare(item) for item in value]
    return {} if isinstance(value, dict) else value


def pruned(type_: Type, value: Any) -> Any:
    """Pruning as the documentation tells it, by walking type and value together."""
    if type_.kind is TypeKind.LIST and isinstance(value, list) and type_.elem:
        return [pruned(type_.elem, item) for item in value]
    if type_.kind is not TypeKind.STRUCT or not isinstance(value, dict):
        stays = type_.kind is TypeKind.ANY or (type_.kind is not TypeKind.LIST and type_.preserves)
        return value if stays else bare(value)
    found = {}
    for name, member in value.items():
        known = type_.fields[name].type if name in type_.fields else type_.elem
        if known is not None or type_.preserves:
            found[name] = member if known is None else pruned(known, member)
    return found


@given(TYPES, OBJECTS)
def test_reading_is_pruning_and_tells_when_it_took_something(type_: Type, value: dict[str, Any]) -> None:
    before = deepcopy(value)
    result, problems = read(type_, value)
    assert result == pruned(type_, value)
    assert bool(problems) == (result != value)
    assert value == before
    assert read(type_, result) == (result, [])


@given(TYPES, OBJECTS)
def test_defaulting_twice_changes_nothing_and_leaves_no_forbidden_null(type_: Type, value: dict[str, Any]) -> None:
    once = settled(type_, read(type_, value)[0])
    assert settled(type_, deepcopy(once)) == once
    for name, field in type_.fields.items():
        if field.type.default is not None:
            assert name in once
        if not field.type.nullable:
            assert once.get(name, "") is not None
    assert in_go_order(type_, once) == once


@given(TYPES, OBJECTS, OBJECTS)
def test_nothing_differs_in_equal_values_alone(type_: Type, one: dict[str, Any], other: dict[str, Any]) -> None:
    one, other = read(type_, one)[0], read(type_, other)[0]
    if nonconformity(one, type_) or nonconformity(other, type_):
        return
    found = compare(one, other, type_)
    assert bool(found.changed or found.removed) == (one != other)


@given(TYPES, OBJECTS, OBJECTS)
def test_what_is_applied_is_there_owned_and_applied_again_changes_nothing(
    type_: Type, live: dict[str, Any], config: dict[str, Any]
) -> None:
    live, config = read(type_, live)[0], read(type_, config)[0]
    root = resource({name: field.type for name, field in type_.fields.items()}, elem=type_.elem, preserves=True)
    if nonconformity(live, root) or nonconformity(config, root):
        return
    head = {"apiVersion": "e.com/v1", "kind": "W"}
    stored = {**head, "metadata": {"name": "w"}, **live}
    update_managed(stored, None, root, manager="m", api_version="e.com/v1", now="2024-01-01T00:00:00Z")

    def applied(to: dict[str, Any]) -> dict[str, Any]:
        sent = {**head, "metadata": {"name": "w"}, **deepcopy(config)}
        return server_side_apply(
            to, sent, root, manager="a", force=True, api_version="e.com/v1", kind="W", now="2024-01-02T00:00:00Z"
        )  # fmt: skip

    once = applied(stored)
    assert merged(once, {**head, **config}, root) is once
    assert applied(once) is once


@pytest.mark.parametrize(
    ("value", "what"),
    [(float("inf"), "number inf"), (-float("inf"), "number -inf"), (float("nan"), "number nan"), (10**400, "object")],
    ids=["inf", "-inf", "nan", "whole"],
)
def test_numbers_that_json_does_not_have_are_refused(value: float, what: str) -> None:
    with pytest.raises(DecodeError, match=f"cannot unmarshal {what} into"):
        decode(FREE, {"a": [value]}, DecodeReport())


@given(st.integers(-(10**22), 10**22) | st.floats(-1e22, 1e22))
def test_a_number_is_the_one_that_is_read_back(number: float) -> None:
    came = {"a": [number], "b": {"c": number}}
    kept = decode(FREE, came, DecodeReport())
    assert identical(kept, loads(dumps(kept))) and identical(loads(dumps(kept)), kept)


@pytest.mark.parametrize(
    ("one", "other"),
    [(10**20, 10**20 + 2**16), ([10**20], [1e20, 1]), ({"a": 10**20}, {"b": 1e20}), ([10**20, 1], [1e20, True])],
)
def test_large_numbers_hide_no_difference(one: object, other: object) -> None:
    assert not identical(one, other)
