"""Runs the published conformance tests of cel-spec (Go module cel.dev/expr, tests/simple) against gateway/cel.

    python -m tests.upstream cel_spec [--module DIR]    # without DIR, `go mod download` finds it

Tests that need what Kubernetes' environment has not are counted apart, by what they need.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gateway.cel import types
from gateway.cel.environment import Environment
from gateway.cel.equality import equal
from gateway.cel.program import InstantiationError, compile_expression
from gateway.cel.source import CompilationError
from gateway.cel.values import Duration, Timestamp, TypeValue, Uint, type_name

MODULE = "cel.dev/expr@v0.25.1"
Message = dict[str, list[Any]]
_TOKEN = re.compile(
    r"""\s*(?:\#[^\n]*\s*)*(?:(?P<string>(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')(?:\s*(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'))*)"""
    r"""|(?P<word>\[[\w./]+\]|[-+\w.]+)|(?P<mark>[{}:<>\[\],;]))""",
    re.S,
)
# what tests need, by words in their text
NEEDS = {
    "protobuf messages": r"TestAllTypes|google\.protobuf|NestedTest|proto2|proto3|GlobalEnum|Outer|StandaloneEnum",
    "the math library": r"\bmath\.",
    "the encoders library": r"base64\.",
    "cel.bind": r"cel\.bind",
    "cel.block": r"cel\.block|cel\.index|cel\.iterVar|cel\.accuVar",
    "a newer string library": r"\.reverse\(\)",
    "quoted field names": r"`",
}


# tests of a string library newer than Kubernetes has; of lookups in values that have no keys, which Kubernetes lets
# pass; of keys given twice, which cel-go lets pass
KUBERNETES_DIFFERS = re.compile(
    r"^(format|value_errors)/|/map_value_repeat_key$|/map_null_entry_no_such_key$|/map_present_key_invalid_field$"
)
DIFFERENT = "what cel-go does otherwise in Kubernetes"


class Skip(Exception):
    """A test needs a feature that does not exist here."""


def parse(text: str) -> Message:
    """Parses a protocol buffer message in text format. Returns lists of values by field."""
    tokens = list(_TOKEN.finditer(text))
    message, at = _fields(tokens, 0)
    assert at == len(tokens)
    return message


def _fields(tokens: list[re.Match[str]], at: int) -> tuple[Message, int]:
    message: Message = {}
    while at < len(tokens) and tokens[at]["mark"] not in ("}", ">"):
        name, at = tokens[at]["word"], at + 1
        if name is None:
            continue
        if tokens[at]["mark"] == ":":
            at += 1
        if tokens[at]["mark"] == "[":
            at += 1
            while tokens[at]["mark"] != "]":
                value, at = _value(tokens, at)
                message.setdefault(name, []).append(value)
                at += tokens[at]["mark"] == ","
            at += 1
        else:
            value, at = _value(tokens, at)
            message.setdefault(name, []).append(value)
    return message, at


def _value(tokens: list[re.Match[str]], at: int) -> tuple[Any, int]:
    token = tokens[at]
    if token["mark"] in ("{", "<"):
        inner, at = _fields(tokens, at + 1)
        return inner, at + 1
    if token["string"] is not None:
        pieces = re.findall(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'', token["string"], re.S)
        return b"".join(_text(piece) for piece in pieces), at + 1
    return token["word"], at + 1


_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.S)
_PLAIN = {"n": b"\n", "t": b"\t", "r": b"\r", "a": b"\a", "b": b"\b", "f": b"\f", "v": b"\v"}


def _text(piece: str) -> bytes:
    parts, at, body = list[bytes](), 0, piece[1:-1]
    for found in _ESCAPE.finditer(body):
        parts.append(body[at : found.start()].encode())
        octal, hexadecimal, short, long, plain = found.groups()
        if octal or hexadecimal:
            parts.append(bytes([int(octal or hexadecimal, 8 if octal else 16)]))
        elif short or long:
            parts.append(chr(int(short or long, 16)).encode())
        else:
            parts.append(_PLAIN.get(plain, plain.encode()))
        at = found.end()
    return b"".join([*parts, body[at:].encode()])


def value_of(message: Message) -> Any:
    """The Python value of a cel.expr.Value."""
    kind, (inner,) = next(iter(message.items()))
    match kind:
        case "null_value":
            return None
        case "bool_value":
            return inner == "true"
        case "int64_value":
            return int(inner)
        case "uint64_value":
            return Uint(int(inner))
        case "double_value":
            return float(inner.replace("infinity", "inf"))
        case "string_value":
            return inner.decode()
        case "bytes_value":
            return inner
        case "type_value":
            return TypeValue(inner.decode())
        case "list_value":
            return [value_of(each) for each in inner.get("values", ())]
        case "map_value":
            entries = inner.get("entries", ())
            return {value_of(each["key"][0]): value_of(each["value"][0]) for each in entries}
        case "object_value":
            return _object(inner)
    raise Skip("protobuf messages")


def _object(message: Message) -> Any:
    name, (inner,) = next(iter(message.items()))
    seconds, nanos = int(inner.get("seconds", ["0"])[0]), int(inner.get("nanos", ["0"])[0])
    if "protobuf.Timestamp" in name:
        return Timestamp(seconds * 10**9 + nanos)
    if "protobuf.Duration" in name:
        return Duration(seconds * 10**9 + nanos)
    raise Skip("protobuf messages")


_PRIMITIVES = {
    "BOOL": types.BOOL,
    "INT64": types.INT,
    "UINT64": types.UINT,
    "DOUBLE": types.DOUBLE,
    "STRING": types.STRING,
    "BYTES": types.BYTES,
}


def type_of(message: Message) -> types.CelType:
    """The type of a cel.expr.Type."""
    kind, (inner,) = next(iter(message.items()))
    match kind:
        case "primitive":
            return _PRIMITIVES[inner]
        case "dyn":
            return types.DYN
        case "null":
            return types.NULL
        case "well_known" if inner in ("TIMESTAMP", "DURATION"):
            return types.TIMESTAMP if inner == "TIMESTAMP" else types.DURATION
        case "list_type":
            return types.list_of(type_of(inner["elem_type"][0]))
        case "map_type":
            return types.map_of(type_of(inner["key_type"][0]), type_of(inner["value_type"][0]))
        case "type":
            return types.type_of(type_of(inner)) if inner else types.TYPE
        case "abstract_type":
            parameters = [type_of(each) for each in inner.get("parameter_types", ())]
            return types.CelType(types.Kind.OPAQUE, inner["name"][0].decode(), *parameters)
    raise Skip("protobuf messages")


@dataclass
class Report:
    """The results of the tests."""

    passed: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    failed: list[str] = field(default_factory=list)


def run(folder: Path) -> Report:
    """Runs all tests of the module in `folder`."""
    report = Report()
    for path in sorted((folder / "tests" / "simple" / "testdata").glob("*.textproto")):
        for name, test in _tests(parse(path.read_text())):
            try:
                wrong = run_test(test)
            except Skip as reason:
                report.skipped[str(reason)] += 1
                continue
            if wrong and KUBERNETES_DIFFERS.search(name):
                report.skipped[DIFFERENT] += 1
            elif wrong:
                report.failed.append(f"{path.stem}/{name}: {test['expr'][0].decode()}: {wrong}")
            else:
                report.passed += 1
    return report


def _tests(document: Message) -> Iterator[tuple[str, Message]]:
    for section in document.get("section", ()):
        for test in section.get("test", ()):
            yield f"{section['name'][0].decode()}/{test['name'][0].decode()}", test


def _environment(test: Message) -> tuple[dict[str, types.CelType], dict[str, Any]]:
    variables: dict[str, types.CelType] = {}
    for declared in test.get("type_env", ()):
        if "function" in declared:
            raise Skip("functions of their own")
        variables[declared["name"][0].decode()] = type_of(declared["ident"][0]["type"][0])
    bindings = {}
    for entry in test.get("bindings", ()):
        if "unknown" in entry["value"][0]:
            raise Skip("unknown values")
        bindings[entry["key"][0].decode()] = value_of(entry["value"][0]["value"][0])
    return variables, bindings


def run_test(test: Message) -> str:
    """What is wrong with the result of a test; "" if it is right. Raises Skip."""
    text = test["expr"][0].decode()
    shown = text + str(test.get("type_env")) + str(test.get("value")) + str(test.get("typed_result"))
    for what, sign in NEEDS.items():
        if re.search(sign, shown if what == "protobuf messages" else text):
            raise Skip(what)
    if test.get("container"):
        raise Skip("a container")
    if "unknown" in test or "any_unknowns" in test:
        raise Skip("unknown values")
    if "true" in test.get("disable_macros", ()):
        raise Skip("no macros")
    variables, bindings = _environment(test)
    wants_failure = "eval_error" in test or "any_eval_errors" in test
    try:
        program = compile_expression(text, Environment(variables))
    except (CompilationError, InstantiationError) as error:
        if "true" in test.get("disable_check", ()):
            raise Skip("no type check") from None
        if re.search("expected type '.*' but found", str(error)):
            raise Skip("lists and maps of several types") from None
        return "" if wants_failure else str(error)
    if "true" in test.get("check_only", ()):
        return _compare_type(program.type, test)
    outcome = program.evaluate(bindings)
    if wants_failure:
        return "" if outcome.error else f"is {outcome.value!r}, should fail"
    if outcome.error:
        return outcome.error
    return _compare_type(program.type, test) or _compare(outcome.value, test)


def _compare(value: Any, test: Message) -> str:
    wanted: Any = True
    if "value" in test:
        wanted = value_of(test["value"][0])
    elif "typed_result" in test:
        wanted = value_of(test["typed_result"][0]["result"][0])
    if wanted != wanted and value != value:
        return ""
    if type_name(value) == type_name(wanted) and equal(value, wanted):
        return ""
    if isinstance(value, TypeValue) and isinstance(wanted, TypeValue) and value == wanted:
        return ""
    return f"is {value!r}, should be {wanted!r}"


def _compare_type(given: types.CelType, test: Message) -> str:
    if "typed_result" not in test:
        return ""
    wanted = type_of(test["typed_result"][0]["deduced_type"][0])
    return "" if types.same(given, wanted) else f"has type {given}, should have {wanted}"


def module() -> Path:
    """The directory of the tests. Downloads them if necessary."""
    answer = subprocess.run(["go", "mod", "download", "-json", MODULE], check=True, capture_output=True, text=True)
    return Path(json.loads(answer.stdout)["Dir"])


def main(words: Sequence[str]) -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--module", type=Path)
    given = arguments.parse_args(words)
    report = run(given.module or module())
    for line in report.failed:
        print(line)
    print(f"passed {report.passed}, failed {len(report.failed)}, not applicable {report.skipped.total()}:")
    for reason, count in report.skipped.most_common():
        print(f"  {count:5} need {reason}")
