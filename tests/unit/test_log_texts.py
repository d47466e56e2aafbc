"""Each warning and error that a server may log is provoked by a test, which has its words."""

from __future__ import annotations

import ast
import logging
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = ("apiserver_gateway", "gateway", "storage")
METHODS = {"warning": 0, "error": 0, "exception": 0, "critical": 0, "log": 1}  # where a logger's text stands
THROUGH = {"Outage": 1, "_report": 0}  # what logs a text that it is given, and where that stands
_PLACEHOLDER = re.compile(r"%[-+.0-9]*[a-z]")
LEAST = 8  # characters beside placeholders by which a text can be told from others

# Texts that are all placeholder, or too short to be searched for: the test that provokes each, file::name.
BY_NAME = {
    "%s": "integration/server/test_logs.py::test_a_start_that_fails_says_so_in_json",
    "uncaught: %s": "integration/server/test_logs.py::test_a_crash_is_a_record_too",
    "ending: %s": "integration/server/test_etcd_trouble.py::test_without_its_etcd_a_server_ends",
    "%s: %s; %s": "integration/server/test_start.py::test_a_certificate_that_is_good_for_an_hour_is_spoken_of",
    "%s %s failed: %s": "integration/server/test_etcd_trouble.py::test_a_full_etcd_is_named_and_what_helps",
    "%s failed": "integration/server/test_etcd_trouble.py::test_a_failed_feed_ends_the_server",
}

_CALL = re.compile(rf"\b({'|'.join((*METHODS, *THROUGH))})\(")  # what a file has that logs


@cache
def logged() -> dict[str, str]:
    """All texts of warnings and errors, each with one place of it in the code."""
    found: dict[str, str] = {}
    for room in ROOMS:
        for file in sorted((ROOT / room).rglob("*.py")):
            source = file.read_text(encoding="utf-8")
            for line, text in _logged_in(ast.parse(source)) if _CALL.search(source) else ():
                found[text] = f"{file.relative_to(ROOT)}:{line}"
    return found


def _logged_in(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        match node.func:
            case ast.Attribute(value, name) if name in METHODS and "log" in ast.unparse(value).lower():
                argument = node.args[METHODS[name]]
            case ast.Name(name) | ast.Attribute(_, name) if name in THROUGH:
                argument = node.args[THROUGH[name]]
            case _:
                continue
        if not isinstance(argument, ast.Name | ast.Attribute):  # who gives it is looked at by THROUGH
            yield node.lineno, _text(argument)


def _text(node: ast.expr) -> str:
    match node:
        case ast.Constant(str(value)):
            return value
        case ast.JoinedStr(values):
            return "".join(_text(each) for each in values)
        case _:
            return "%s"


@cache
def said_in_tests() -> str:
    """The texts of all tests, of each file's strings that are not docstrings; this file's are not among them."""
    found = []
    for file in sorted((ROOT / "tests").rglob("*.py")):
        if file != Path(__file__):
            tree = ast.parse(file.read_text(encoding="utf-8"))
            statements = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)}
            for node in ast.walk(tree):
                if isinstance(node, ast.Constant) and id(node) not in statements:
                    value = node.value.decode("utf-8", "replace") if isinstance(node.value, bytes) else node.value
                    found.append(value if isinstance(value, str) else "")
    return "\n".join(found)


def is_said(text: str) -> bool:
    """Whether a string of a test has all words of a text, or those between two placeholders or commas."""
    pieces = [piece.strip(" :") for part in _PLACEHOLDER.split(text) for piece in part.split(", ")]
    return any(len(piece) >= LEAST and " " in piece and piece in said_in_tests() for piece in pieces)


def is_provoked(text: str) -> bool:
    """Whether a test has the words of a text, or BY_NAME names an existing test for it."""
    if text not in BY_NAME:
        return is_said(text)
    file, _, name = BY_NAME[text].partition("::")
    source = (ROOT / "tests" / file).read_text(encoding="utf-8")
    return re.search(rf"^(async )?def {name}\(", source, re.MULTILINE) is not None


def test_a_test_provokes_what_is_logged() -> None:
    assert {place: text for text, place in logged().items() if not is_provoked(text)} == {}, "no test has their words"


def test_no_other_text_is_named() -> None:
    assert BY_NAME.keys() <= logged().keys()
    assert len(logged()) > 40, "they are not found any more"


TAKEN = {*vars(logging.makeLogRecord({})), "message", "asctime"}  # logging raises KeyError for such a member of `extra`


def fields(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The names that a module gives to `extra` of log records, and their lines; also of a dict with a variable's
    name.
    """
    given = [node.value for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg == "extra"]
    variables = {node.id for node in given if isinstance(node, ast.Name)}
    dicts = [node for node in given if isinstance(node, ast.Dict)]
    for node in ast.walk(tree):
        match node:
            case ast.Assign([ast.Name(name)], ast.Dict() as made) if name in variables:
                dicts.append(made)
    yield from ((key.lineno, key.value) for each in dicts for key in each.keys if isinstance(key, ast.Constant))


def test_no_field_of_a_record_has_a_name_that_logging_refuses() -> None:
    """Such a call raises where it is meant to report: a document that was of no use was asked for again and again."""
    bad = ast.parse('log.info("a", extra={"name": 1, "error": 2})\nextra = {"args": 1}\nlog.info("b", extra=extra)')
    assert [name for _, name in fields(bad) if name in TAKEN] == ["name", "args"]
    found = []
    for room in ROOMS:
        for file in sorted((ROOT / room).rglob("*.py")):
            if "extra=" in (source := file.read_text(encoding="utf-8")):
                found += [(f"{file}:{line}", name) for line, name in fields(ast.parse(source)) if name in TAKEN]
    assert found == []
