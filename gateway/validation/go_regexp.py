"""Whether Go's regexp package compiles a pattern, and its complaint if not (RE2 syntax, https://github.com/google/re2/wiki/Syntax)."""

from __future__ import annotations

import re

MOST_REPEATS = 1000
_GO_ESCAPES = "pPzQECxX"  # that Python has not, or has otherwise
_look_around = re.compile(r"(?<!\\)\(\?(?:<?[=!]|>|#|\()").search
_back_reference = re.compile(r"(?<!\\)(?:\\\\)*(\\[1-9])").search
_REPEAT = r"\{\d+(?:,\d*)?\}"
_stacked = re.compile(rf"(?<!\\)(?:[*+?]|{_REPEAT})(?:[*+]|\?[*+?]|{_REPEAT})").search
_repeats = re.compile(r"(?<!\\)\{(\d+)(?:,(\d*))?\}").finditer


def regexp_problem(pattern: str) -> str:
    """The message of regexp.Compile; empty if the pattern is one."""
    problem, part = _problem(pattern)
    return f"error parsing regexp: {problem}: `{part}`" if problem else ""


def _problem(pattern: str) -> tuple[str, str]:
    if found := _look_around(pattern):
        return "invalid or unsupported Perl syntax", found[0]
    if found := _back_reference(pattern):
        return "invalid escape sequence", found[1]
    if found := _stacked(pattern):
        return "invalid nested repetition operator", found[0]
    for repeat in _repeats(pattern):
        if int(repeat[1]) > MOST_REPEATS or (repeat[2] and not int(repeat[1]) <= int(repeat[2]) <= MOST_REPEATS):
            return "invalid repeat count", repeat[0]
    try:
        re.compile(pattern)
    except re.error as error:
        return _in_go(error.msg, pattern, error.pos or 0)
    except (OverflowError, RecursionError):
        return "expression nests too deeply", pattern
    return "", ""


def _in_go(message: str, pattern: str, position: int) -> tuple[str, str]:
    rest = pattern[position:]
    if message.startswith("bad escape (end"):
        return "trailing backslash at end of expression", ""
    if message.startswith("bad escape"):
        return ("", "") if rest[1:2] in _GO_ESCAPES else ("invalid escape sequence", rest[:2])
    if message.startswith("missing )"):
        return "missing closing )", pattern
    if message.startswith("unterminated character set"):
        return "missing closing ]", rest
    if message.startswith("unbalanced parenthesis"):
        return "unexpected )", pattern
    if message.startswith("nothing to repeat"):
        return "missing argument to repetition operator", rest[:1]
    if message.startswith("multiple repeat"):
        return "invalid nested repetition operator", pattern[max(position - 1, 0) : position + 1]
    if message.startswith("bad character range"):
        return "invalid character class range", message.removeprefix("bad character range ")
    return (
        ("", "")
        if pattern[max(position - 1, 0) :].startswith(("(?U", "(?<", "(?P<", "?<"))
        else ("invalid or unsupported Perl syntax", rest[:3])
    )
