"""Regular expressions that clients write, compiled and matched as Go's regexp package does.

Both are RE2 (https://github.com/google/re2/wiki/Syntax): matching takes time that grows with the text and nothing else,
so that no pattern holds the server.
"""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections import OrderedDict
from typing import Any

import re2

from gateway.time_limits import leave_loop, look, on_loop
from gateway.validation.effort import COMPILING, spend

MAX_NESTING = 1000
_MAX_MEMORY = 2 << 20  # bytes that one compiled pattern may take: its making takes up to 50 ms
_LITTLE_MEMORY = 64 << 10  # what fits in it is compiled in a few milliseconds ...
_SMALL = 128 << 10  # ... and may take so much
_MOST_REMEMBERED = 64 << 20  # bytes that all remembered patterns may take
_OVERHEAD = 512
_TOO_LARGE = b"pattern too large"  # of RE2
_SHORT = 256  # characters, of each of which RE2 makes a few instructions ...
_MULTIPLIES = re.compile(r"\{|\\[pP]")  # ... but for a repetition, and a class of Unicode
_LONGEST_PAUSE = 0.1  # seconds

_one_at_a_time = threading.Lock()

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
    """What RE2 makes of a pattern in a bounded time. Raises re2.error for what is none, or too large; as `look`, and
    as `leave_loop` where it is large.
    """
    look()
    spend(COMPILING)
    if options is None:
        options = re2.Options()
    options.log_errors = False
    if _is_large(pattern, options):
        leave_loop()
        return _compile(pattern, options) if on_loop() else _compile_in_turn(pattern, options)
    return _compile(pattern, options, _SMALL)


def _is_large(pattern: str, options: Any) -> bool:
    """Whether Python stands still for 4 ms or more while RE2 compiles it; takes a millisecond at most."""
    if len(pattern) < _SHORT and not _MULTIPLIES.search(pattern):
        return False
    options.max_mem = _LITTLE_MEMORY
    try:
        re2.compile(pattern, options)
    except re2.error as error:
        return _TOO_LARGE in error.args[0]
    return False


def _compile(pattern: str, options: Any, memory: int = _MAX_MEMORY) -> Any:
    options.max_mem = memory
    return re2.compile(pattern, options)


def _compile_in_turn(pattern: str, options: Any) -> Any:
    """The same in a thread: the event loop has as long after it before any thread compiles another."""
    while not _one_at_a_time.acquire(timeout=_LONGEST_PAUSE):
        look()
    try:
        began = time.monotonic()
        try:
            return _compile(pattern, options)
        finally:
            time.sleep(min(time.monotonic() - began, _LONGEST_PAUSE))
    finally:
        _one_at_a_time.release()


class _Remembered:
    """What patterns were compiled to, bounded by the memory that it may take and not by how many there are.

    A compiled pattern grows while it is used, by the states that it has met, up to the memory that it was allowed.
    """

    def __init__(self, most: int) -> None:
        self._found: OrderedDict[str, tuple[Any, str, int]] = OrderedDict()
        self._free = most
        self._lock = threading.Lock()

    def of(self, pattern: str) -> tuple[Any, str]:
        """The expression, or what is wrong with the pattern. Raises as `compile_pattern` does but for re2.error."""
        with self._lock:
            if (known := self._found.get(pattern)) is not None:
                self._found.move_to_end(pattern)
                return known[:2]
        expression, problem = _compiled(pattern)
        size = _OVERHEAD + 4 * (len(pattern) + len(problem))
        if expression is not None:
            size += expression.options.max_mem
        with self._lock:
            if pattern not in self._found:
                self._found[pattern] = expression, problem, size
                self._free -= size
            while self._free < 0:
                self._free += self._found.popitem(last=False)[1][2]
        return expression, problem


def compiled(pattern: str) -> tuple[Any, str]:
    """The expression, without groups, or what is wrong with the pattern as regexp.Compile says it; remembered.

    Raises as `compile_pattern` does but for re2.error.
    """
    return _remembered.of(pattern)


def regexp_problem(pattern: str) -> str:
    """The message of regexp.Compile; empty if the pattern is one."""
    complaint = compiled(pattern)[1]
    return f"error parsing regexp: {complaint}" if complaint else ""


def matches(pattern: str, text: str) -> bool:
    """Whether a pattern is found in a text; every text matches what is no pattern."""
    expression = compiled(pattern)[0]
    return expression is None or expression.search(text) is not None


def _compiled(pattern: str) -> tuple[Any, str]:
    """The expression, or what is wrong with the pattern."""
    if _nesting(pattern) > MAX_NESTING:
        return None, f"expression nests too deeply: `{pattern}`"
    try:
        options = re2.Options()
        options.never_capture = True
        expression = compile_pattern(pattern, options)
    except re2.error as error:
        what, _, part = error.args[0].decode("utf-8", "replace").partition(": ")
        if what == "missing )":
            part = pattern
        return None, f"{_COMPLAINTS.get(what, what)}: `{part}`"
    if found := _any_byte(pattern):
        return None, f"invalid escape sequence: `{found}`"
    return expression, ""


_remembered = _Remembered(_MOST_REMEMBERED)


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
