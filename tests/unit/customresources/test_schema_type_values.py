"""Values of custom objects without a checked type: the errors, and the stored result."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.apply import server_side_apply, update_managed
from gateway.apply.nonconformity import nonconformity
from gateway.cel.rules import compile_schema
from gateway.customresources.objects import VersionRules
from gateway.customresources.schema_type import object_type
from gateway.defaults.structural import apply_structural_defaults, default_applied
from gateway.http.status import StatusError
from gateway.jsontypes import dumps, loads
from gateway.kinds.identity import GroupVersionKind
from gateway.release.release import DEFAULT_GATES
from gateway.schema.decode import DecodeError, DecodeReport, decode
from gateway.validation.schema_values import validate_value

VERSION = "e.com/v1"


def of(spec: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"spec": spec}}


def thing(spec: Any) -> dict[str, Any]:
    return {"apiVersion": VERSION, "kind": "Thing", "metadata": {"name": "a"}, "spec": spec}


def tracked(schema: dict[str, Any], new: Any, old: Any = None) -> dict[str, Any]:
    obj = thing(new)
    before = None if old is None else {**thing(old), "metadata": {"name": "a", "managedFields": OWNED}}
    update_managed(obj, before, object_type(schema, "Thing"), manager="m", api_version=VERSION, now="now")
    return obj["metadata"]


OWNED = [
    {"manager": "o", "operation": "Update", "apiVersion": VERSION, "time": "then", "fieldsType": "FieldsV1",
     "fieldsV1": {"f:spec": {"f:a": {}}}},
]  # fmt: skip


def test_what_does_not_conform_has_no_managers() -> None:
    schema = of({"type": "object", "properties": {"a": {"type": "string"}}})
    assert tracked(schema, {"a": "x"})["managedFields"][0]["fieldsV1"] == {"f:spec": {".": {}, "f:a": {}}}
    for spec in (7, ["x"], {"a": 7}, {"a": {}}):
        for new, old in ((spec, None), (spec, {"a": "x"}), ({"a": "x"}, spec)):
            with pytest.raises(ValueError, match=r"\.spec"):
                tracked(schema, new, old)


def test_what_was_null_keeps_its_owner_when_it_gets_members() -> None:
    schema = of({"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    owners = {
        each["manager"]: each["fieldsV1"] for each in tracked(schema, {"a": {"b": 1}}, {"a": None})["managedFields"]
    }
    assert owners["o"] == {"f:spec": {"f:a": {}}}
    assert owners["m"] == {"f:spec": {"f:a": {"f:b": {}}}}


def test_integers_or_strings_have_no_type_to_managers() -> None:
    schema = of({"type": "object", "properties": {"a": {"x-kubernetes-int-or-string": True}}})
    assert tracked(schema, {"a": {"b": 1}})["managedFields"][0]["fieldsV1"] == {
        "f:spec": {".": {}, "f:a": {".": {}, "f:b": {}}}
    }


def test_an_apply_to_what_no_longer_conforms_is_refused() -> None:
    type_ = object_type(of({"type": "object", "properties": {"a": {"type": "string"}}}), "Thing")
    with pytest.raises(StatusError, match=r"failed to create typed live object \(/a; e.com/v1, Kind=Thing\)"):
        server_side_apply(
            thing({"a": 7}), thing({"a": "x"}), type_, manager="m", force=True, api_version=VERSION, now=""
        )


def test_nulls_go_but_those_that_were_applied() -> None:
    type_ = object_type(of({"type": "object", "properties": {"a": {"type": "string"}}}), "Thing")
    sent, applied = thing({"a": None}), thing({"a": None})
    apply_structural_defaults(type_, sent)
    default_applied(type_, applied)
    assert (sent["spec"], applied["spec"]) == ({}, {"a": None})


@pytest.mark.parametrize(
    ("value", "known", "fits"),
    [(1.5, [1, 2], True), (1, [1.0], True), (65, ["A"], True), (True, [1], False), (1, [True], False), (3, [1], False)],
)
def test_numbers_are_compared_with_an_enum_as_go_converts_them(value: Any, known: list[Any], fits: bool) -> None:
    assert (validate_value(value, {"enum": known}) == []) is fits


def test_numbers_are_shown_as_go_prints_them() -> None:
    schema = {"type": "number", "maximum": 1000000, "multipleOf": 2}
    bodies = [error.body for error in validate_value(1e21, schema)]
    assert bodies == [
        "Invalid value: 1e+21:  in body should be a multiple of 2",
        "Invalid value: 1e+21:  in body should be less than or equal to 1e+06",
    ]


EMBEDDED = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}


@pytest.mark.parametrize(
    ("member", "message"),
    [
        ({"kind": []}, "spec.kind: Invalid value: []: must be a string"),
        ({"apiVersion": None}, "spec.apiVersion: Invalid value: null: must be a string"),
        (
            {"metadata": {"labels": ["x"]}},
            'spec.metadata: Invalid value: {"labels":["x"]}: json: cannot unmarshal array into Go struct field '
            "ObjectMeta.labels of type map[string]string",
        ),
    ],
)
def test_objects_within_objects_are_read_as_objects(member: Any, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode(object_type(of(EMBEDDED), "Thing"), thing(member), DecodeReport())
    assert str(caught.value) == message


def test_a_missing_member_is_named_as_the_rule_names_it() -> None:
    spec = {"type": "object", "properties": {"if": {"type": "integer"}}}
    rules = compile_schema(of({**spec, "x-kubernetes-validations": [{"rule": "self.__if__ > 1"}]}))
    assert rules is not None
    errors, _ = rules.validate(thing({}))
    assert [error.body for error in errors] == [
        'Invalid value: "object": no such key: __if__ evaluating rule: self.__if__ > 1'
    ]


NUMBER = {"type": "number", "multipleOf": 0.5, "maximum": 2.5}


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (2.0, []),
        (2, ["must be positive: 0"]),
        (3.0, ["should be less than or equal to 2.5"]),
    ],
)
def test_a_whole_number_is_judged_as_what_it_came_as_and_written_as_an_integer(value: float, told: list[str]) -> None:
    read = decode(object_type(of(NUMBER), "Thing"), thing(value), DecodeReport())
    found = validate_value(read["spec"], NUMBER, "spec")
    assert len(found) == len(told) and all(text in error.body for text, error in zip(told, found, strict=True))
    assert dumps(read["spec"]) == str(int(value)).encode()


def test_rules_see_a_whole_number_as_a_double() -> None:
    spec = {"type": "number", "x-kubernetes-validations": [{"rule": "self / 2.0 == 1.5"}]}
    rules = compile_schema(of(spec))
    assert rules is not None
    for value in (3.0, 3):
        read = decode(object_type(of(spec), "Thing"), thing(value), DecodeReport())
        assert rules.validate(read) == ([], [])


INTEGER, INT_OR_STRING = {"type": "integer"}, {"x-kubernetes-int-or-string": True}
FLOAT_FOR_INTEGER = "invalid data, expected int, got float64"
NEITHER = "invalid data, expected XIntOrString value to be either a string or integer"


def told_of(spec: dict[str, Any], rule: str, value: Any, old: Any = None) -> list[str]:
    """What is wrong with a value that has just been read, by one rule of its schema."""
    schema = of({**spec, "x-kubernetes-validations": [{"rule": rule}]})
    rules = compile_schema(schema)
    assert rules is not None
    read = decode(object_type(schema, "Thing"), thing(value), DecodeReport())
    errors, _ = rules.validate(read, None if old is None else thing(old))
    return [error.body.partition(": ")[2] for error in errors]


@pytest.mark.parametrize(
    ("spec", "rule", "value"),
    [
        (INTEGER, "self > 1", 3.0),
        (INTEGER, "false || self == 3", 3e0),
        ({"type": "object", "properties": {"i": INTEGER}}, "has(self.i)", {"i": 3.0}),
        ({"type": "object", "properties": {"i": INTEGER}}, "self.?i.orValue(0) == 3", {"i": 3.0}),
        ({"type": "object", "additionalProperties": INTEGER}, "self.all(key, self[key] > 0)", {"a": 1, "b": 3.0}),
        ({"type": "array", "items": INTEGER}, "self.all(each, each > 0)", [1, 3.0]),
        ({"type": "array", "items": INTEGER}, "3 in self", [3.0]),
        ({"type": "array", "items": INTEGER}, "self == [3]", [3.0]),
    ],
)
def test_rules_have_no_use_for_a_whole_float_where_integers_are_wanted(
    spec: dict[str, Any], rule: str, value: Any
) -> None:
    (told,) = told_of(spec, rule, value)
    assert told.endswith(f"{FLOAT_FOR_INTEGER} evaluating rule: {rule}")


def test_nor_where_it_may_be_a_text_as_well() -> None:
    (told,) = told_of(INT_OR_STRING, "self == 3", 3.0)
    assert told.endswith(f"{NEITHER} evaluating rule: self == 3")


@pytest.mark.parametrize(
    ("spec", "rule", "value"),
    [
        (INTEGER, "true", 3.0),
        (INTEGER, "self == 3", 3),
        (INTEGER, "true || self > 1", 3.0),
        ({"type": "array", "items": INTEGER}, "self.size() > 0", [3.0]),
        ({"type": "object", "properties": {"i": INTEGER, "n": INTEGER}}, "self.n > 0", {"i": 3.0, "n": 1}),
    ],
)
def test_rules_that_do_not_look_at_it_hold(spec: dict[str, Any], rule: str, value: Any) -> None:
    assert told_of(spec, rule, value) == []


@pytest.mark.parametrize(
    "spec",
    [
        {"type": "array", "x-kubernetes-list-type": "set", "maxItems": 3, "items": INTEGER},
        {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["i"],
            "maxItems": 3,
            "items": {"type": "object", "required": ["i"], "properties": {"i": INTEGER}},
        },
    ],
)
def test_a_whole_float_in_a_set_or_map_is_not_equal_to_the_integer(spec: dict[str, Any]) -> None:
    one, other = ([3.0], [3]) if spec["items"] is INTEGER else ([{"i": 3.0}], [{"i": 3}])
    assert told_of(spec, "self == oldSelf", one, other) == ["failed rule: self == oldSelf"]
    assert told_of(spec, "self == oldSelf", other, other) == []


@pytest.mark.parametrize("spec", [INTEGER, {"type": "number"}])
def test_a_whole_float_for_the_integer_that_is_stored_is_a_change(spec: dict[str, Any]) -> None:
    strategy = VersionRules(
        GroupVersionKind("e.com", "v1", "Thing"), of(spec), {}, terminating=False, enabled=DEFAULT_GATES.enabled
    ).strategy()
    type_ = object_type(of(spec), "Thing")

    def generation(value: Any) -> int:
        old, new = thing(3), decode(type_, thing(value), DecodeReport())
        old["metadata"]["generation"] = new["metadata"]["generation"] = 1
        strategy.prepare_for_update(new, old, None)  # type: ignore[arg-type]
        return int(new["metadata"]["generation"])

    assert [generation(3), generation(3.0), generation(4)] == [1, 2, 2]


def test_metadata_is_read_by_itself() -> None:
    with pytest.raises(DecodeError, match=r"Go struct field ObjectMeta\.name of type string"):
        decode(object_type(of({"type": "object"}), "Thing"), {"metadata": {"name": 5}}, DecodeReport())


PARTS = {
    "type": "object",
    "x-kubernetes-preserve-unknown-fields": True,
    "properties": {"n": {"type": "number"}, "l": {"type": "array", "maxItems": 3, "items": {"type": "object"}}},
}
PARTS["properties"]["l"]["items"] = {**PARTS, "properties": {"n": {"type": "number"}}}  # type: ignore[index]


@pytest.mark.parametrize(
    ("rule", "new", "equal"),
    [
        ("self == oldSelf", {"n": 1, "u": 1}, True),
        ("self == oldSelf", {"n": 1.0, "u": 1}, True),
        ("self == oldSelf", {"n": 1, "u": 2}, False),
        ("self == oldSelf", {"n": 1, "u": 1, "v": 1}, False),
        ("[self] == [oldSelf]", {"n": 1, "u": 2}, False),
        ("self in [oldSelf]", {"n": 1, "u": 2}, False),
        ("self in [oldSelf]", {"n": 1.0, "u": 1}, True),
        ("!has(self.l) || self.l == oldSelf.l", {"n": 1, "u": 1, "l": [{"u": 2}]}, False),
    ],
)
def test_equal_objects_are_so_in_what_their_schema_does_not_know_as_well(
    rule: str, new: dict[str, Any], equal: bool
) -> None:
    old = {"n": 1, "u": 1, **({"l": [{"u": 1}]} if "l" in new else {})}
    assert told_of(PARTS, rule, new, old) == ([] if equal else [f"failed rule: {rule}"])


KNOWN = {"type": "object", "properties": {"known": {"type": "string"}}}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"properties": {"below": KNOWN}}, {"below": {"unknown": 1}}),
        ({"properties": {"below": {"type": "array", "items": KNOWN}}}, {"below": [{"unknown": 1}]}),
        (
            {"properties": {"below": {"type": "object", "additionalProperties": KNOWN}}},
            {"below": {"a": {"unknown": 1}}},
        ),
        (
            {"properties": {"below": {"type": "object", "properties": {"far": KNOWN}}}},
            {"below": {"far": {"unknown": 1}}},
        ),
    ],
)
@pytest.mark.parametrize("preserves", [True, False])
def test_applies_may_name_whatever_is_below_what_keeps_unknown_members(
    schema: dict[str, Any], value: dict[str, Any], preserves: bool
) -> None:
    type_ = object_type(of({"type": "object", "x-kubernetes-preserve-unknown-fields": preserves, **schema}), "Thing")
    problem = nonconformity(thing(value), type_)
    assert problem is None if preserves else str(problem).endswith(".unknown: field not declared in schema")
    mistyped = dumps(value).replace(b"unknown", b"known")
    assert str(nonconformity(thing(loads(mistyped)), type_)).startswith(".spec.below")  # what is known has its type
