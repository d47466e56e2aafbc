"""The editions of CEL: cel-go 0.26, and cel-go 0.29 for releases with the change CELGo029. An environment has one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import ceil
from typing import Any

from gateway.cel.costs import TRAVERSAL, regex_cost, size_of
from gateway.cel.declarations import LIST_FUNCTIONS
from gateway.cel.edition import FIRST, Edition
from gateway.cel.libraries import implementations
from gateway.cel.values import EvaluationError

_INDEX_OF = ("string_index_of_string_int", "string_last_index_of_string_int")
_MOST_RANGE = 1_000_000
_LONGEST_NAME = 253


def _in_text(overload: str) -> Callable[[str, str, int], int]:
    """A search from an index on. The empty string is found there, but not beyond the end."""

    def search(text: str, part: str, index: int) -> int:
        if part:
            return implementations()[overload](text, part, index)  # type: ignore[no-any-return]
        if index < 0:
            raise EvaluationError(f"index out of range: {index}")
        return min(index, len(text))

    return search


def _range(count: int) -> list[int]:
    if count < 0:
        raise EvaluationError(f"lists.range: size must be non-negative, got {count}")
    if count > _MOST_RANGE:
        raise EvaluationError(f"lists.range: size {count} exceeds maximum allowed ({_MOST_RANGE})")
    return list(range(count))


def _affix(args: tuple[Any, ...], result: Any) -> int:
    return ceil(size_of(args[1]) * TRAVERSAL)


SECOND = Edition(
    "cel-go 0.29",
    withdrawn=frozenset({"int64_to_duration"}),
    implementations={
        **{each: _in_text(each) for each in _INDEX_OF},
        "lists_range": _range,
    },
    costs={"starts_with_string": _affix, "ends_with_string": _affix, "matches": regex_cost},
    longest_name=_LONGEST_NAME,
    strict_sets=True,
    global_matches=True,
)


def edition_of(enabled: Callable[[str], bool]) -> Edition:
    """The edition of a release, whose gates and changes `enabled` knows."""
    return SECOND if enabled("CELGo029") else FIRST


def edition_of_new(enabled: Callable[[str], bool]) -> Edition:
    """The edition for new expressions: without the functions that an earlier replica may lack."""
    edition, absent = edition_of(enabled), set[str]()
    if not enabled("CELIncludes"):
        absent.add("includes")
    if not enabled("CELListFunctions"):
        absent |= LIST_FUNCTIONS
    return replace(edition, absent=edition.absent | absent) if absent else edition
