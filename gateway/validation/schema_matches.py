"""Finds the schema that an invalid value fits best among several, as kube-openapi does.

It counts the checks that the value passes, and reports the errors of the schema with the highest count. Alternatives
may be nested, and each level needs the counts of all levels below. So the results for a schema and a value are kept
until the outermost alternatives are done, and nothing is counted twice.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from types import TracebackType
from typing import Any

from gateway.jsontypes import JsonObject
from gateway.time_limits import look
from gateway.validation.effort import FAILED, spend
from gateway.validation.field import FieldError
from gateway.validation.schema_formats import format_check

Check = Callable[[Any, str, Any], Sequence[FieldError]]
Compile = Callable[[JsonObject], Check]


class _Known(threading.local):
    """The results under the outermost alternatives that this thread tries, by the ids of schema and value."""

    depth = 0
    only_whether = False  # true while only validity is asked, so that `best` need not count
    schemas: dict[int, CountedSchema]
    counts: dict[tuple[int, int], int]
    verdicts: dict[tuple[int, int], bool]

    def forget(self) -> None:
        self.schemas, self.counts, self.verdicts = {}, {}, {}


_known = _Known()


class Alternatives:
    """A context manager, to be entered while alternatives are tried."""

    __slots__ = ()

    def __enter__(self) -> None:
        look()
        if not _known.depth:
            _known.forget()
        _known.depth += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _known.depth -= 1
        if not _known.depth:
            _known.forget()


trying = Alternatives()


class CountedSchema:
    """A schema that counts how well values fit it. Its checks are compiled on first use."""

    def __init__(self, schema: JsonObject, compiled: Compile) -> None:
        """`compiled` makes the check of a schema."""
        self.schema, self._compiled = schema, compiled

    def tried(self, value: Any, errors: Sequence[FieldError], *, new: bool) -> None:
        """Records the errors of this schema for a value. `new`: the check had no old value, so its verdict is kept."""
        _known.schemas[id(self.schema)] = self
        if errors:
            spend(FAILED)
        if new:
            _known.verdicts[id(self.schema), id(value)] = not errors

    def fits(self, value: Any) -> bool:
        """Whether a value is valid; the verdict is kept."""
        place = id(self.schema), id(value)
        if (known := _known.verdicts.get(place)) is not None:
            return known
        before, _known.only_whether = _known.only_whether, True
        try:
            found = _known.verdicts[place] = not self.check(value, "", None)
        finally:
            _known.only_whether = before
        return found

    def count(self, value: Any) -> int:
        """How many checks a value passes; the count is kept."""
        place = id(self.schema), id(value)
        if (known := _known.counts.get(place)) is not None:
            return known
        look()
        spend(FAILED)
        found = _known.counts[place] = self._counted(value)
        return found

    def _counted(self, value: Any) -> int:
        schema = self.schema
        kind, form = schema.get("type"), schema.get("format")
        fits = 0
        if kind or form or schema.get("x-kubernetes-int-or-string"):
            # only type errors count here, and not a number beyond the range of its format
            fits = int(not [one for one in self._typed(value, "", None) if "FieldValueTypeInvalid" in one.reason])
        if value is None:
            return fits
        total = 1 + 1 + 1 + 1 + self._junctors(value)  # checks of the end, of junctors (two), of the enum
        if kind or form:
            total += fits + 1
        if isinstance(value, str):
            total += 1 + int(bool(form) and format_check(str(form)) is not None)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            total += 2
        elif isinstance(value, list):
            items = self._below(schema.get("items"))
            total += 2 + (sum(map(items.count, value)) if items is not None else 0)
        elif isinstance(value, dict):
            total += 1 + self._members(value)
        return total

    def _members(self, value: JsonObject) -> int:
        properties, additional = self.schema.get("properties") or {}, self.schema.get("additionalProperties")
        below = ((self._below(properties.get(key, additional)), member) for key, member in value.items())
        return sum(one.count(member) for one, member in below if one is not None)

    def _junctors(self, value: Any) -> int:
        total = sum(one.count(value) for one in self._of("allOf"))
        for key in ("anyOf", "oneOf"):
            alternatives = self._of(key)
            valid = [one for one in alternatives if one.fits(value)]
            if valid and (key == "anyOf" or len(valid) == 1):
                total += valid[0].count(value)
            elif not valid and alternatives:
                total += max(one.count(value) for one in alternatives)
        return total

    def _of(self, key: str) -> list[CountedSchema]:
        return [one for each in self.schema.get(key) or () if (one := self._below(each)) is not None]

    # compiled on first use

    @cached_property
    def check(self) -> Check:
        """The check of values by this schema."""
        return self._compiled(self.schema)

    @cached_property
    def _typed(self) -> Check:
        names = ("type", "format", "nullable", "x-kubernetes-int-or-string")
        return self._compiled({key: self.schema[key] for key in names if key in self.schema})

    def _below(self, schema: Any) -> CountedSchema | None:
        """The `CountedSchema` of a schema below this one: the one that was tried, or a new one. None for no schema."""
        if not isinstance(schema, dict):
            return None
        known = _known.schemas.get(id(schema))
        if known is None:
            known = _known.schemas[id(schema)] = CountedSchema(schema, self._compiled)
        return known


Failure = tuple[CountedSchema, Sequence[FieldError]]


def best(failures: Sequence[Failure], value: Any) -> Sequence[FieldError]:
    """The errors of the alternative that passes most checks; of equals, the first. Must be called within `trying`."""
    if len(failures) == 1 or _known.only_whether:
        return failures[0][1]
    return max(failures, key=lambda each: each[0].count(value))[1]
