"""Regular expressions that clients write, compiled and matched as Go's regexp package does.

Both are RE2 (https://github.com/google/re2/wiki/Syntax): matching takes time that grows with the text and nothing else,
so that no pattern holds the server.
"""

from __future__ import annotations

import contextlib
import time
from functools import lru_cache
from typing import Any

import re2

from gateway.time_limits import look, on_loop

MAX_NESTING = 1000
_MAX_MEMORY = 2 << 20  # bytes that one compiled pattern may take; its making holds Python for some 25 ms a MiB
_LONG = 0.005  # seconds

_COMPLAINTS = {
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid repetition size": "invalid repeat count",
    "invalid named capture group": "invalid named capture",
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "trailing \\": "trailing backslash at end of expression",
}  # of RE2 in C++ -> Go's


def compile_pattern(pattern: str, options: Any = None) -> Any:
    """What RE2 makes of a pattern in a bounded time. Raises re2.error for what is none, or too large; as `look`.

    In a thread the event loop has as long a turn after it: nothing in Python goes on while RE2 compiles.
    """
    look()
    if options is None:
        options = re2.Options()
    options.log_errors, options.max_mem = False, _MAX_MEMORY
    began = time.monotonic()
    try:
        return re2.compile(pattern, options)
    finally:
        took = time.monotonic() - began
        if took > _LONG:
            if not on_loop():
                time.sleep(min(took, 20 * _LONG))
            look()


def regexp_problem(pattern: str) -> str:
    """The message of regexp.Compile; empty if the pattern is one."""
    complaint = _compiled(pattern)[1]
    return f"error parsing regexp: {complaint}" if complaint else ""


def matches(pattern: str, text: str) -> bool:
    """Whether a pattern is found in a text; every text matches what is no pattern."""
    expression = _compiled(pattern)[0]
    return expression is None or expression.search(text) is not None


@lru_cache(256)
def _compiled(pattern: str) -> tuple[Any, str]:
    """The expression, or what is wrong with the pattern."""
    if _nesting(pattern) > MAX_NESTING:
        return None, f"expression nests too deeply: `{pattern}`"
    try:
        expression = compile_pattern(pattern)
    except re2.error as error:
        what, _, part = error.args[0].decode("utf-8", "replace").partition(": ")
        if what == "missing )":
            part = pattern
        return None, f"{_COMPLAINTS.get(what, what)}: `{part}`"
    if found := _any_byte(pattern):
        return None, f"invalid escape sequence: `{found}`"
    return expression, ""


def _any_byte(pattern: str) -> str:
    r"""The escape `\C`, which Go does not have, if the pattern has it."""
    with contextlib.suppress(ValueError):
        at = -2
        while True:
            at = pattern.index("\\", at + 2)
            if pattern[at + 1 : at + 2] == "C":
                return "\\C"
            if pattern[at + 1 : at + 2] == "Q":
                at = pattern.index("\\E", at)
    return ""


def _nesting(pattern: str) -> int:
    """At least as much as groups are nested in the pattern."""
    if pattern.count("(") <= MAX_NESTING:
        return 0
    depth = deepest = 0
    for character in pattern:
        depth += (character == "(") - (character == ")")
        deepest = max(deepest, depth)
    return deepest
