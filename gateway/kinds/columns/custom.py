"""Columns of custom resources: the additionalPrinterColumns of their CRDs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from gateway.jsontypes import JsonObject, dumps
from gateway.kinds.columns.autoscaling import scale_cells
from gateway.kinds.columns.cell_text import printed
from gateway.kinds.columns.durations import epoch
from gateway.kinds.columns.jsonpath import MISSING, MOST_WEIGHT, Budget, JsonPath
from gateway.kinds.columns.jsonpath_nodes import Opaque, PathError
from gateway.kinds.columns.model import AGE, NAME, UNKNOWN, Cell, Column, Columns, Elapsed, name_of
from gateway.schema.times import TimeError, canonical_time

MAX_COLUMNS = 256  # of a version; further ones are left out
STEPS = 20_000  # values of an object that all columns together may look at
SOME_STEPS, STEPS_A_BYTE = 300, 2  # a lower limit, by the object's size, for paths that may look at a value many times
TEXT_STEP = 64  # characters of text that count as one value
_MAX_INT = 1 << 63
_fraction = re.compile(r"[.,]([0-9]+)").search

_DEFAULT = ({"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},)

SCALE = Columns(  # of a custom object: kube-apiserver gives it other columns than that of a built-in kind
    (
        NAME,
        Column("Desired", type="integer", description="Number of desired replicas"),
        Column("Available", type="integer", description="Number of actual replicas"),
        AGE._replace(type="date"),
    ),
    scale_cells,
)


def custom_columns(definitions: Sequence[JsonObject] | None) -> Columns:
    """The columns of a version of a CRD: the name, then the additionalPrinterColumns; without these, the age.

    A column with an invalid path, and all columns after it, are left out, as in kube-apiserver.
    """
    columns, paths = [NAME], list[tuple[str, JsonPath]]()
    for definition in (definitions or _DEFAULT)[:MAX_COLUMNS]:
        text = definition.get("jsonPath", "")
        try:
            path = JsonPath.of(text)
        except PathError:
            break
        columns.append(_column(definition, text))
        paths.append((definition.get("type", ""), path))
    if not definitions:
        columns[1] = AGE._replace(type="date")

    weight = sum(path.weight for _, path in paths) or 1

    def cells(obj: JsonObject) -> list[Cell]:
        budget = Budget(STEPS if weight < MOST_WEIGHT else min(STEPS, SOME_STEPS + STEPS_A_BYTE * len(dumps(obj))))
        return [name_of(obj), *[_cell(kind, path, obj, budget) for kind, path in paths]]

    return Columns(tuple(columns), cells, weight=weight)


def _column(definition: JsonObject, path: str) -> Column:
    return Column(
        definition.get("name", ""),
        definition.get("type", ""),
        definition.get("format", ""),
        definition.get("priority", 0),
        description=definition.get("description") or f"Custom resource definition column (in JSONPath format): {path}",
    )


def _cell(kind: str, path: JsonPath, obj: JsonObject, budget: Budget) -> Cell:
    if budget.left < 0:
        return None
    try:
        value = path.first(obj, budget)
        if value is MISSING:
            return None
        if type(value) is int and value >= _MAX_INT:
            value = float(value)
        if kind != "string":
            return _typed(kind, value)
        text = printed(value)
        budget.spend(len(text) // TEXT_STEP)
    except ValueError:
        return None
    return text


def _typed(kind: str, value: Any) -> Cell:
    """The value if it has the column's type, else None. A date becomes the time since then."""
    if value is None or isinstance(value, Opaque):
        return None
    match kind:
        case "integer" if isinstance(value, float):
            return int(value) if abs(value) < _MAX_INT else -_MAX_INT
        case "integer" if isinstance(value, int) and not isinstance(value, bool):
            return value
        case "number" if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
        case "boolean" if isinstance(value, bool):
            return value
        case "date" if isinstance(value, str):
            return _date(value)
    return None


def _date(text: str) -> Cell:
    if text in ("", "null"):
        return UNKNOWN
    try:
        time = canonical_time(text)
    except TimeError:
        return "<invalid>"
    if time is None:
        return UNKNOWN
    fraction = _fraction(text)
    return Elapsed(epoch(time) + float(f"0.{fraction[1]}" if fraction else 0))
