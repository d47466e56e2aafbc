"""Each parser returns a value, or raises the error that it documents, for any input of a client.

HYPOTHESIS_PROFILE=search tries more.
"""

from __future__ import annotations

import base64
import contextlib
import string
from collections.abc import Callable

import cbor2
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gateway.apply.field_set import from_wire
from gateway.cel.environment import Environment
from gateway.cel.program import InstantiationError, compile_expression
from gateway.cel.source import CompilationError
from gateway.cel.types import DYN
from gateway.encodings import cbor
from gateway.http.negotiation import STANDARD
from gateway.http.status import StatusError
from gateway.jsontypes import TooDeep, dumps
from gateway.patches import json_patch, merge_patch, strategic_merge_patch
from gateway.schema.body import parse_body
from gateway.schema.catalog import type_for
from gateway.schema.decode import DecodeError, DecodeReport, decode
from gateway.schema.integers import int64
from gateway.schema.protobuf import MAGIC, read_envelope, read_message
from gateway.schema.protobuf_wire import ProtobufError
from gateway.schema.quantity import QuantityError, parse_quantity
from gateway.schema.times import TimeError, canonical_microtime, canonical_time
from gateway.schema.yaml_body import YamlError, parse_yaml
from gateway.selectors import fields, labels
from gateway.validation.cron import schedule_error
from gateway.validation.go_regexp import matches, regexp_problem
from storage import continuation

TYPES = [type_for("", "v1", kind) for kind in ("Pod", "ConfigMap", "Secret", "Event", "PersistentVolumeClaim")]
TYPES.append(type_for("apiextensions.k8s.io", "v1", "CustomResourceDefinition"))
TYPES.append(type_for("coordination.k8s.io", "v1", "Lease"))

PIECES = [
    "{",
    "}",
    "[",
    "]",
    '"',
    ":",
    ",",
    "a",
    "metadata",
    '"a"',
    "null",
    "1e400",
    "9" * 30,
    "\\ud800",
    "\\",
    " ",
    "\n",
]
PIECES += [
    "- ",
    "? ",
    ": ",
    "&a ",
    "*a",
    "<<: ",
    "!!int ",
    "|",
    "0x",
    "0b",
    "._",
    "\t",
    "\0",
    "\ufeff",
    "'",
    "#",
    "%",
    "é",
]
SOUP = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=40).map("".join)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=20,
)


@given(SOUP.map(lambda text: text.encode("utf-8", "surrogatepass")) | st.binary(max_size=60), st.sampled_from(TYPES))
@example(b"[" * 2000, TYPES[0])
@example(b'{"a":' * 2000 + b"1" + b"}" * 2000, TYPES[0])
def test_json(data: bytes, type_: object) -> None:
    with contextlib.suppress(DecodeError):
        value, duplicates = parse_body(data)
        assert isinstance(duplicates, list)
        decode(type_, value, DecodeReport())  # type: ignore[arg-type]  # hypothesis knows no better


@given(SOUP.map(lambda text: text.encode("utf-8", "surrogatepass")) | st.binary(max_size=60))
@example(b"a: &a [*a]")
@example(b'a: "\\uD800"')
@example(b"a: " + b"9" * 5000)
@example(b"? " * 30_000)
def test_yaml(data: bytes) -> None:
    with contextlib.suppress(YamlError, TooDeep):
        dumps(parse_yaml(data)[0])


@st.composite
def messages(draw: st.DrawFn) -> bytes:
    """Bytes like a protobuf message: fields with small numbers and any wire type, nested."""
    out = b""
    for _ in range(draw(st.integers(0, 5))):
        wire = draw(st.sampled_from([0, 0, 1, 2, 2, 2, 2, 3, 4, 5, 6, 7]))
        out += bytes([draw(st.integers(0, 15)) << 3 | wire])
        if wire == 0:
            out += draw(st.binary(min_size=1, max_size=10))
        elif wire == 2:
            inner = draw(messages() | st.binary(max_size=12))[:100]
            out += bytes([len(inner)]) + inner
        else:
            out += draw(st.binary(max_size=8))
    return out


@given(messages() | st.binary(max_size=60), st.sampled_from(TYPES))
def test_protobuf(data: bytes, type_: object) -> None:
    with contextlib.suppress(ProtobufError):
        read_envelope(MAGIC + data)
    with contextlib.suppress(ProtobufError, DecodeError):
        dumps(decode(type_, read_message(type_, data), DecodeReport()))  # type: ignore[arg-type]  # as above


@given(st.text(string.digits + "+-.eEinumkKMGTP", max_size=25), st.text(string.digits + "eE-", max_size=14))
@example("1e2147483647", "-1e2147483647")
@example("1e-2147483648", "9" * 9999)
def test_quantities(one: str, other: str) -> None:
    with contextlib.suppress(QuantityError):
        left, right = parse_quantity(one), parse_quantity(other)
        assert (left < right) + (left == right) + (left > right) == 1
        assert abs(left.value) <= 2**63 and abs(left.milli_value) <= 2**63
        assert str(left + right) and isinstance(hash(left), int)


@given(st.text(string.digits + "TZ:.,+- é٣", max_size=40) | SOUP)
def test_times(text: str) -> None:
    for canonical in (canonical_time, canonical_microtime):
        with contextlib.suppress(TimeError):
            assert canonical(text) is None or canonical(text)


@given(st.text("ab=!(),<> \tinot9/.\\\0é", max_size=40) | SOUP)
@example("a>" + "9" * 5000)
def test_selectors(text: str) -> None:
    with contextlib.suppress(labels.SelectorError):
        matcher = labels.parse(text)
        assert matcher is None or matcher({"a": "1"}) in (True, False)
    with contextlib.suppress(labels.SelectorError):
        fields.matcher(fields.parse_terms(text))


@given(SOUP | st.text(max_size=40))
@example('{"v":"meta.k8s.io/v1","rv":9223372036854775808,"start":"a"}')
@example('{"v":"meta.k8s.io/v1","rv":5,"start":"\\ud800"}')
@example("[" * 5000)
def test_continue_tokens(text: str) -> None:
    encoded = base64.urlsafe_b64encode(text.encode("utf-8", "surrogatepass")).rstrip(b"=").decode()
    for token in (text, encoded):
        try:
            key, revision = continuation.decode(token, b"/p/")
        except continuation.InvalidToken as error:
            str(error).encode()
        else:
            assert key.startswith(b"/p/") and -(2**63) <= revision < 2**63


OPERATIONS = st.fixed_dictionaries(
    {
        "op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "none"]),
        "path": st.sampled_from(["", "/data", "/data/a", "/data/-", "/x/0", "/x/-1", "/x/" + "9" * 5000, "/data/a/b"]),
        "from": st.sampled_from(["", "/data", "/data/a", "/x", "/x/0"]),
        "value": VALUES,
    }
)


@given(st.lists(OPERATIONS, max_size=12) | VALUES)
def test_json_patches(patch: object) -> None:
    document = {"kind": "ConfigMap", "data": {"a": "b"}, "x": [1, {"a": []}]}
    try:
        body = dumps(patch)
    except (TooDeep, ValueError):
        return
    for strict in (True, False):
        with contextlib.suppress(StatusError):
            operations, _ = json_patch.parse(body, strict)
            dumps(json_patch.apply(document, operations, TYPES[1]))
    assert document == {"kind": "ConfigMap", "data": {"a": "b"}, "x": [1, {"a": []}]}


MEMBERS = st.sampled_from(["metadata", "finalizers", "ownerReferences", "uid", "$patch", "$setElementOrder/finalizers"])
MERGES = st.recursive(
    st.none() | st.sampled_from(["delete", "replace", "a", 1, True]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(MEMBERS | st.text(max_size=3), inner, max_size=4),
    max_leaves=20,
)


@given(MERGES)
def test_merge_patches(patch: object) -> None:
    document = {"kind": "ConfigMap", "metadata": {"finalizers": ["a"], "ownerReferences": [{"uid": "a"}]}}
    for module in (merge_patch, strategic_merge_patch):
        try:
            value, _ = module.parse(dumps(patch), True)
            dumps(module.apply(document, value, TYPES[1]))
        except StatusError as error:
            assert error.code < 500 or module is strategic_merge_patch  # kube-apiserver answers 500 here, too


ELEMENTS = st.sampled_from(
    ["f:a", ".", "k:{}", 'k:{"a":1}', 'v:"x"', "v:1e400", "i:1", "i:" + "9" * 5000, "i:1_0", "v:[", ""]
)
SETS = st.recursive(
    st.just({}) | VALUES,
    lambda inner: st.dictionaries(ELEMENTS | st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(SETS)
def test_field_sets(value: object) -> None:
    with contextlib.suppress(ValueError):
        dumps(from_wire(value))


@given(
    st.binary(max_size=60)
    | st.lists(st.sampled_from([b"*/*", b";q=", b",", b"application/json", b"0.", b"="])).map(b"".join)
)
def test_accept(header: bytes) -> None:
    with contextlib.suppress(StatusError):
        STANDARD.negotiate(header, "")


@given(st.text("ab()[]{}*+?|\\^$.,0123456789:<>PQEpLC-", max_size=30) | st.text(max_size=10), st.text(max_size=20))
def test_patterns(pattern: str, text: str) -> None:
    problem = regexp_problem(pattern)
    assert problem == "" or problem.startswith("error parsing regexp: ")
    assert matches(pattern, text) in (True, False)


@given(st.text(string.digits + "+-_ é٣", max_size=25) | st.text(string.digits, min_size=4000, max_size=6000))
def test_integers(text: str) -> None:
    value = int64(text)
    assert value is None or int(text) == value
    schedule_error(f"{text} * * * *")


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A CBOR value with some bytes changed."""
    data = bytearray(cbor2.dumps(draw(VALUES.filter(_fits))))
    for place in draw(st.lists(st.integers(0, len(data) - 1), max_size=3)):
        data[place] = draw(st.integers(0, 255))
    return bytes(data)


def _fits(value: object) -> bool:
    try:
        return bool(cbor2.dumps(value))
    except UnicodeEncodeError:
        return False


HEADS = st.sampled_from(
    [bytes([each]) for each in b"\x5f\x80\x9f\xa1\xbf\xc0\xc1\xc2\xc4\xf6\xff"]
    + [b"\x41a", b"\x61a", b"\xd8\x1c", b"\xd8\x1d\x00", b"\xd9\x01\x02", b"\xd9\xd9\xf7", b"\xfb\x7f\xf0"]
)


@given(st.binary(max_size=60) | damaged() | st.lists(HEADS, max_size=20).map(b"".join))
@example(b"\x81" * 5000 + b"\x00")
@example(b"\xd8\x1c" * 3000 + b"\x00")
@example(b"\x9b" + b"\xff" * 8)
@example(b"\xc1\xfb\x7f\xef" + b"\xff" * 6)
def test_cbor(data: bytes) -> None:
    """Values, values with changed bytes, and sequences of heads that announce more data than follows."""
    with contextlib.suppress(cbor.CborError):
        dumps(cbor.decode(data))


WORDS = [
    *".()[]{}:?,'\"!-+*/%a1`\n\\",
    "self",
    "object",
    "r'",
    "b'",
    "\\u",
    "&&",
    "||",
    "==",
    "in",
    "1.5e",
    "0x",
    "9" * 30,
]
WORDS += ["has(", "all(", "map(", "matches(", "optional.none()", "duration('1h')", "quantity('1')", "cel.bind("]
WORDS += ["null", "//", "1u", "é", "\ufffd"]


@settings(max_examples=settings().max_examples // 4)  # compiling takes long
@given(st.lists(st.sampled_from(WORDS), max_size=20).map("".join) | SOUP)
def test_expressions(text: str) -> None:
    """An expression that compiles can also be evaluated, to a value or an error."""
    with contextlib.suppress(CompilationError, InstantiationError):
        program = compile_expression(text, Environment({"self": DYN, "object": DYN}))
        program.evaluate({"self": {"a": [1, "x", None]}, "object": {}})


@pytest.mark.parametrize("parse", [parse_yaml, parse_body], ids=["yaml", "json"])
def test_what_is_parsed_as_json_is_the_same_as_yaml(parse: Callable[[bytes], tuple[object, list[str]]]) -> None:
    assert parse(b'{"a": [1, "x", {"b": null}]}')[0] == {"a": [1, "x", {"b": None}]}
