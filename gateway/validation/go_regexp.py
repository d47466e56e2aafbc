"""Regular expressions that clients write, compiled and matched as Go's regexp package does.

Both are RE2 (https://github.com/google/re2/wiki/Syntax): for any pattern, the time of matching is linear in the length
of the text. So no pattern can hold up the server.
"""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections import OrderedDict
from typing import Any

import re2

from gateway.time_limits import leave_loop, leave_pool, look, on_loop
from gateway.validation.effort import COMPILING, spend

MAX_NESTING = 1000
_MAX_MEMORY = 2 << 20  # bytes that a compiled pattern may take; compiling it takes up to 50 ms
_LITTLE_MEMORY = 64 << 10  # a pattern that fits in so many bytes is compiled in a few milliseconds ...
_SMALL = 128 << 10  # ... and may take so many bytes
_MOST_REMEMBERED = 64 << 20  # bytes that all cached patterns may take
_OVERHEAD = 512
_TOO_LARGE = b"pattern too large"  # a message of RE2
_SHORT = 256  # characters of a pattern; RE2 makes a few instructions for each ...
_MULTIPLIES = re.compile(r"\{|\\[pP]")  # ... except for repetitions and Unicode classes
_LONGEST_PAUSE = 0.1  # seconds between two large compilations

FEW_STEPS = 1_000_000
"""Steps of a search that the event loop may do: some milliseconds."""
MANY_STEPS = 10_000_000
"""Steps of a search that takes up to 0.1 s. No usual pattern takes them: `(ab|ba|a|b){1,500}c` has 3 000 instructions,
each of them once a character."""

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
}  # RE2's messages in C++ -> Go's


def compile_pattern(pattern: str, options: Any = None) -> Any:
    """Compiles a pattern with RE2, in a bounded time. Raises re2.error for an invalid or too large pattern. Raises
    TakesLong and GivenUp as `look` does, and for a large pattern as `leave_loop` does.
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
    """Whether RE2 needs 4 ms or more to compile a pattern. No Python code runs then. The test takes at most 1 ms."""
    if len(pattern) < _SHORT and not _MULTIPLIES.search(pattern):
        return False
    try:
        _compile(pattern, options, _LITTLE_MEMORY)
    except re2.error as error:
        return _TOO_LARGE in error.args[0]
    return False


def _compile(pattern: str, options: Any, memory: int = _MAX_MEMORY) -> Any:
    options.max_mem = memory
    try:
        return re2.compile(pattern, options)
    finally:
        re2.purge()  # re2 keeps the last 128 itself, however large they are


def _compile_in_turn(pattern: str, options: Any) -> Any:
    """Compiles a large pattern in a thread, one at a time. It then waits as long as that took, so that the event loop
    can run before the next one.
    """
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
    """A cache of compiled patterns, bounded by their memory and not by their number.

    A compiled pattern grows while it matches, because it keeps states. So the most memory that it may take is counted.
    """

    def __init__(self, most: int) -> None:
        self._found: OrderedDict[str, tuple[Any, str, int]] = OrderedDict()
        self._free = most
        self._lock = threading.Lock()

    def of(self, pattern: str) -> tuple[Any, str]:
        """Returns the expression (None if invalid) and the message. Raises as `compile_pattern`, except re2.error."""
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
    """Returns a cached expression without groups, and ""; for an invalid pattern None, and regexp.Compile's message.

    Raises as `compile_pattern`, except re2.error.
    """
    return _remembered.of(pattern)


def regexp_problem(pattern: str) -> str:
    """The error of regexp.Compile for a pattern; "" if it is valid."""
    complaint = compiled(pattern)[1]
    return f"error parsing regexp: {complaint}" if complaint else ""


def matches(pattern: str, text: str) -> bool:
    """Whether a pattern matches somewhere in a text. True for an invalid pattern."""
    expression = compiled(pattern)[0]
    return expression is None or search(expression, text) is not None


def search(expression: Any, text: str) -> Any:
    """The first match of a compiled pattern in a text, or None. Raises as `leave_loop` does if it may take long, and as
    `leave_pool` does if it may take very long.

    RE2 lets other threads run while it searches.
    """
    if (found := steps(expression, text)) > FEW_STEPS:
        leave_loop()
        if found > MANY_STEPS:
            leave_pool()
    return expression.search(text)


def steps(expression: Any, text: str) -> int:
    """The steps that a search takes at most: 6 ns each, and a hundredth of that for most patterns."""
    found: int = expression.programsize * len(text)
    return found


def _compiled(pattern: str) -> tuple[Any, str]:
    """As `compiled`, without the cache."""
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
    r"""Returns `\C` if the pattern has this escape, which Go lacks; else ""."""
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
    """An upper bound of how deeply groups are nested in the pattern; 0 if that is certainly at most MAX_NESTING."""
    if pattern.count("(") <= MAX_NESTING:
        return 0
    depth = deepest = 0
    for character in pattern:
        depth += (character == "(") - (character == ")")
        deepest = max(deepest, depth)
    return deepest
