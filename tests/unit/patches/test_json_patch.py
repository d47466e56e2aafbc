"""JSON patch as kube-apiserver applies it: RFC 6902, laxer in a few places, and never changing its inputs."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from gateway.http.status import StatusError
from gateway.jsontypes import dumps
from gateway.patches import json_patch
from gateway.patches.spelling import Spelt
from gateway.schema.catalog import type_for

CONFIG_MAP = type_for("", "v1", "ConfigMap")


def document() -> dict[str, Any]:
    return {"kind": "ConfigMap", "metadata": {"name": "c", "finalizers": ["a", "b"]}, "data": {"a": "one", "x/y": "z"}}


def patched(*operations: dict[str, Any]) -> Any:
    original = document()
    before = copy.deepcopy(operations)
    result = json_patch.apply(original, list(operations), CONFIG_MAP)
    assert original == document()
    assert operations == before
    return result


@pytest.mark.parametrize(
    ("operation", "data"),
    [
        ({"op": "add", "path": "/data/b", "value": "two"}, {"a": "one", "x/y": "z", "b": "two"}),
        ({"op": "replace", "path": "/data/x~1y", "value": "new"}, {"a": "one", "x/y": "new"}),
        ({"op": "remove", "path": "/data/a"}, {"x/y": "z"}),
        ({"op": "move", "from": "/data/a", "path": "/data/b"}, {"x/y": "z", "b": "one"}),
        ({"op": "copy", "from": "/data/a", "path": "/data/b"}, {"a": "one", "x/y": "z", "b": "one"}),
        ({"op": "replace", "path": "/data/absent", "value": "v"}, {"a": "one", "x/y": "z", "absent": "v"}),
        ({"op": "copy", "from": "/data/absent", "path": "/data/b"}, {"a": "one", "x/y": "z", "b": None}),
        ({"op": "test", "path": "/data/absent", "value": None}, {"a": "one", "x/y": "z"}),
        ({"op": "add", "path": "/data/b"}, {"a": "one", "x/y": "z", "b": None}),
    ],
)
def test_operation_on_members(operation: dict[str, Any], data: dict[str, Any]) -> None:
    assert patched(operation)["data"] == data


@pytest.mark.parametrize(
    ("path", "finalizers"),
    [("-", ["a", "b", "new"]), ("0", ["new", "a", "b"]), ("2", ["a", "b", "new"]), ("-1", ["a", "b", "new"])],
)
def test_add_to_an_array(path: str, finalizers: list[str]) -> None:
    result = patched({"op": "add", "path": f"/metadata/finalizers/{path}", "value": "new"})
    assert result["metadata"]["finalizers"] == finalizers


def test_what_stands_before_the_first_slash_is_ignored() -> None:
    assert patched({"op": "add", "path": "data/b", "value": "x"})["b"] == "x"


def test_untouched_parts_are_shared() -> None:
    original = document()
    result = json_patch.apply(original, [{"op": "add", "path": "/data/b", "value": "x"}], CONFIG_MAP)
    assert result["metadata"] is original["metadata"]


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": "/data/absent"},
        {"op": "add", "path": "/metadata/annotations/x", "value": "y"},
        {"op": "add", "path": "/metadata/finalizers/7", "value": "x"},
        {"op": "replace", "path": "/metadata/finalizers/first", "value": "x"},
        {"op": "move", "from": "/data/absent", "path": "/data/b"},
        {"op": "test", "path": "/data/a", "value": 1},
        {"op": "test", "path": "/data/absent", "value": "x"},
        {"op": "replace", "path": "", "value": "x"},
        {"op": "increment", "path": "/data/a"},
        {"path": "/data/a"},
        {"op": "add", "value": "x"},
        None,
    ],
)
def test_operation_that_does_not_apply_is_a_422_without_reasons(operation: Any) -> None:
    with pytest.raises(StatusError) as caught:
        json_patch.apply(document(), [operation], CONFIG_MAP)
    assert caught.value.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "the server rejected our request due to an error in our request",
        "reason": "Invalid",
        "details": {},
        "code": 422,
    }


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "error decoding patch: unexpected end of JSON input"),
        (
            b'{"op": "add"}',
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
        ),
        (
            b'["add"]',
            "error decoding patch: json: cannot unmarshal string into Go value of type handlers.jsonPatchOp",
        ),
        (
            b'[{"op": 1}]',
            "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string",
        ),
        (
            b'[{"op": "add", "path": "/a", "value": [1e999]}]',
            "error decoding patch: json: cannot unmarshal number 1e999 into Go struct field jsonPatchOp.value of type "
            "float64",
        ),
    ],
)
def test_what_is_no_patch_document_is_a_400(body: bytes, message: str) -> None:
    with pytest.raises(StatusError) as caught:
        json_patch.parse(body, strict=True)
    assert (caught.value.code, caught.value.message) == (400, message)


def test_strict_errors_name_the_member_of_the_operation() -> None:
    _, errors = json_patch.parse(b'[{"op": "add", "path": "/a", "path": "/a", "extra": 1}]', strict=True)
    assert errors == ['json patch duplicate field "[0].path"', 'json patch unknown field "[0].extra"']


def test_more_than_ten_thousand_operations_are_a_413() -> None:
    with pytest.raises(StatusError) as caught:
        json_patch.parse(dumps([{"op": "test", "path": "/a"}] * 10_001), strict=False)
    assert caught.value.code == 413
    assert caught.value.message == "The allowed maximum operations in a JSON patch is 10000, got 10001"


@pytest.mark.parametrize(("present", "tested"), [(3, 3.0), (1, True), ([3], [3.0])])
def test_numbers_are_tested_as_they_are_written(present: Any, tested: Any) -> None:
    with pytest.raises(StatusError) as caught:
        json_patch.apply({"spec": {"n": present}}, [{"op": "test", "path": "/spec/n", "value": tested}], CONFIG_MAP)
    assert caught.value.code == 422
    same = [{"op": "test", "path": "/spec/n", "value": present}]
    assert json_patch.apply({"spec": {"n": present}}, same, CONFIG_MAP) == {"spec": {"n": present}}


@pytest.mark.parametrize(
    ("patch", "holds"),
    [
        (r'[{"op":"test","path":"/data/html","value":"<a>"}]', False),
        (r'[{"op":"test","path":"/data/html","value":"\u003ca\u003e"}]', True),
        (r'[{"op":"test","path":"/data/far","value":"é"}]', True),
        (r'[{"op":"test","path":"/data/far","value":"\u00e9"}]', False),
        (r'[{"op":"test","path":"/data/lines","value":"a\nb"}]', True),
        (r'[{"op":"test","path":"/data/lines","value":"a\u000ab"}]', False),
        (r'[{"op":"test","path":"/data/far","value":"\/é"}]', False),
        (r'[{"op":"test","path":"/data","value":{"html":"<a>","far":"é","lines":"a\nb"}}]', False),
        (r'[{"op":"test","path":"/data","value":{"h\u0074ml":"\u003ca\u003e","far":"é","lines":"a\nb"}}]', True),
        (r'[{"op":"add","path":"/data/x","value":"\u0041"},{"op":"test","path":"/data/x","value":"A"}]', False),
        (r'[{"op":"add","path":"/data/x","value":["<"]},{"op":"test","path":"/data/x/0","value":"<"}]', True),
        (r'[{"op":"copy","from":"/data/html","path":"/data/x"},{"op":"test","path":"/data/x","value":"<a>"}]', False),
    ],
)  # fmt: skip
def test_a_test_compares_how_texts_are_written(patch: str, holds: bool) -> None:
    data = {"html": "<a>", "far": "é", "lines": "a\nb"}
    operations, _ = json_patch.parse(patch.encode(), strict=True)
    if holds:
        result = json_patch.apply({"data": data}, operations, CONFIG_MAP)
        assert all(type(each) is not Spelt for each in result["data"].values())
    else:
        with pytest.raises(StatusError):
            json_patch.apply({"data": data}, operations, CONFIG_MAP)


def test_members_that_come_twice_are_told_of_the_patch_and_of_what_it_makes() -> None:
    whole = b'{"op":"add","path":"/data","value":{"b":"1","b":"2","a":"3","a":"4"}}'
    body = b'[%b,{"op":"add","path":"/data/c","value":"5"}]' % whole
    operations, strict = json_patch.parse(body, strict=True)
    assert strict == ['json patch duplicate field "[0].value.b"', 'json patch duplicate field "[0].value.a"']
    repeated = json_patch.repeated({"data": {}}, operations, CONFIG_MAP)
    assert repeated == []  # what is looked into is written anew
    operations, _ = json_patch.parse(b"[%b]" % whole, strict=True)
    assert json_patch.repeated({"data": {}}, operations, CONFIG_MAP) == [
        'duplicate field "data.b"',
        'duplicate field "data.a"',
    ]


def test_small_objects_count_for_what_they_take_in_memory_when_they_are_copied() -> None:
    """200 KB of them and ten copies took 155 MB: the limit was that of kube-apiserver, in bytes of JSON."""
    add = {"op": "add", "path": "/x", "value": [{"": 0}] * 29_000}
    copies = [{"op": "copy", "from": "/x", "path": f"/y{number}"} for number in range(4)]
    with pytest.raises(StatusError) as refused:
        patched(add, *copies)
    assert refused.value.code == 422
    assert len(patched(add, *copies[:3])["y2"]) == 29_000
    text = {"op": "add", "path": "/x", "value": "x" * 200_000}
    assert len(patched(text, *copies)["y3"]) == 200_000


@pytest.mark.parametrize(("value", "fits"), [("[" * 120_000, True), (["{"] * 60_000, True), ([[]] * 110_000, False)])
def test_containers_in_a_copy_count_for_their_memory_and_brackets_in_texts_do_not(value: Any, fits: bool) -> None:
    copies = [{"op": "copy", "from": "/data", "path": "/copied"}]
    try:
        json_patch.applied({"data": value}, copies)
    except json_patch.PatchFailed:
        assert not fits
    else:
        assert fits
