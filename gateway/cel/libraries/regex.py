"""Regular expressions of Go's regexp package (RE2 syntax). Matching takes linear time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.cel.values import EvaluationError, Texts, no_overload
from gateway.validation import go_regexp


def compiled(pattern: str) -> Any:
    """Compiles a pattern. Raises EvaluationError with Go's message."""
    expression, complaint = go_regexp.compiled(pattern)
    if complaint:
        raise EvaluationError(f"error parsing regexp: {complaint}")
    return expression


def _matches(text: Any, pattern: Any) -> bool:
    if type(text) is not str or type(pattern) is not str:
        raise no_overload()
    return compiled(pattern).search(text) is not None


def _library_pattern(pattern: str) -> Any:
    try:
        return compiled(pattern)
    except EvaluationError as error:
        raise EvaluationError(f"Illegal regex: {error}") from None


def _find(text: str, pattern: str) -> str:
    found = _library_pattern(pattern).search(text)
    return found[0] if found else ""


def _find_all(text: str, pattern: str, most: int = -1) -> Texts:
    finder, found = _library_pattern(pattern), Texts()
    if most == 0:
        return found
    last = -1
    for each in finder.finditer(text):
        if each.start() == each.end() and each.start() == last:
            continue  # Go drops an empty match right after another match
        found.append(each[0])
        last = each.end()
        if len(found) == most:
            break
    return found


OVERLOADS: dict[str, Callable[..., Any]] = {
    "matches": _matches,
    "matches_string": _matches,
    "string_find_string": _find,
    "string_find_all_string": _find_all,
    "string_find_all_string_int": _find_all,
}
