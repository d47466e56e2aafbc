"""Regular expressions of Go's regexp package (RE2 syntax). Matching takes linear time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.cel.values import CostExceeded, EvaluationError, StringList, no_overload
from gateway.time_limits import look
from gateway.validation import go_regexp

_SHORT = 1000  # characters in which no search takes many steps
_STEPS = 250  # for one unit of cost: one expression may cost as much as a second and a half
_MOST_READ = 4_000_000_000  # characters, of 1 ns, that the search for all matches may look at


def excess(text: str, pattern: str) -> int:
    """The cost of a search beside cel-go's, which does not see how large a pattern becomes: that of the steps that RE2
    may take, if they are very many.
    """
    if len(text) <= _SHORT:
        return 0
    expression = go_regexp.compiled(pattern)[0]
    taken = 0 if expression is None else go_regexp.steps(expression, text)
    return taken // _STEPS if taken > go_regexp.MANY_STEPS else 0


def compiled(pattern: str) -> Any:
    """Compiles a pattern. Raises EvaluationError with Go's message."""
    expression, complaint = go_regexp.compiled(pattern)
    if complaint:
        raise EvaluationError(f"error parsing regexp: {complaint}")
    return expression


def _matches(text: Any, pattern: Any) -> bool:
    if type(text) is not str or type(pattern) is not str:
        raise no_overload()
    return go_regexp.search(compiled(pattern), text) is not None


def _library_pattern(pattern: str) -> Any:
    try:
        return compiled(pattern)
    except EvaluationError as error:
        raise EvaluationError(f"Illegal regex: {error}") from None


def _find(text: str, pattern: str) -> str:
    found = go_regexp.search(_library_pattern(pattern), text)
    return found[0] if found else ""


def _find_all(text: str, pattern: str, most: int = -1) -> StringList:
    finder, found = _library_pattern(pattern), StringList()
    if most == 0:
        return found
    last, left = -1, _MOST_READ
    go_regexp.search(finder, text)  # leaves the event loop if that may take long
    for each in finder.finditer(text):
        left -= len(text) - each.start()  # each match may have looked at all that follows
        if left < 0:
            raise CostExceeded
        look()
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
