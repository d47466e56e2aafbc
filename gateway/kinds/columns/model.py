"""The Table of a kind: column definitions, and the cells of one object.

Cells do not depend on the present time: an age is an `Elapsed`, which becomes text when it is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from gateway.jsontypes import JsonObject
from gateway.kinds.columns.durations import aging, epoch, seconds_between

NONE, UNSET, UNKNOWN = "<none>", "<unset>", "<unknown>"


class Elapsed(NamedTuple):
    """The time since a moment, in words; with what stands before and after it in the cell."""

    since: float  # seconds since 1970
    before: str = ""
    after: str = ""

    def text_until(self, now: float) -> tuple[str, float]:
        """The cell's text, and the time at which it may become another."""
        text, step = aging(seconds_between(self.since, now))
        return self.before + text + self.after, self.since + ((now - self.since) // step + 1) * step


Cell = str | int | float | bool | Elapsed | None


class Column(NamedTuple):
    """One column definition; priority 0 is shown always, 1 with -o wide."""

    name: str
    type: str = "string"
    format: str = ""
    priority: int = 0
    field: str = ""  # whose description is the column's: a type below io.k8s and a field, "api.core.v1.PodStatus.podIP"
    description: str = ""  # where a client gave one


@dataclass(frozen=True, slots=True)
class Columns:
    """A kind's columns, and how cells and conditions of a row come out of an object in JSON form `form`."""

    definitions: tuple[Column, ...]
    cells: Callable[[JsonObject], list[Cell]]
    conditions: Callable[[JsonObject], tuple[str, str] | None] | None = None  # reason and message of being completed
    order: Callable[[JsonObject], Any] | None = None  # what lists are sorted by; by key where there is none
    no_rows: bytes = b"[]"  # what a list without items has for rows
    form: str = ""  # the apiVersion of the objects, where this is another one than the served
    weight: int = 1  # how much longer the cells of an object take for each of its bytes than those of other kinds


_META = "apimachinery.pkg.apis.meta.v1.ObjectMeta"
NAME = Column("Name", format="name", field=f"{_META}.name")
AGE = Column("Age", field=f"{_META}.creationTimestamp")
CREATED_AT = Column("Created At", type="date", field=f"{_META}.creationTimestamp")


def column(name: str, field: str = "") -> Column:
    return Column(name, field=_whole(field))


def integer(name: str, field: str = "") -> Column:
    return Column(name, type="integer", field=_whole(field))


def boolean(name: str, field: str = "") -> Column:
    return Column(name, type="boolean", field=_whole(field))


def wide(name: str, field: str = "", format: str = "") -> Column:
    """A column that is shown with -o wide."""
    return Column(name, format=format, priority=1, field=_whole(field))


def _whole(field: str) -> str:
    return f"api.{field}" if field else ""


def name_of(obj: JsonObject) -> str:
    name: str = obj["metadata"].get("name", "")
    return name


def name_and_time(obj: JsonObject) -> list[Cell]:
    return [name_of(obj), obj["metadata"].get("creationTimestamp") or "0001-01-01T00:00:00Z"]


NAME_AND_TIME = Columns((NAME, CREATED_AT), name_and_time, no_rows=b"null")
"""The columns of kinds that have none of their own."""


def since(time: str | None, before: str = "", after: str = "") -> Cell:
    """The time since a time of an object; "<unknown>" without one."""
    return Elapsed(epoch(time), before, after) if time else f"{before}{UNKNOWN}{after}"


def age(obj: JsonObject) -> Cell:
    time = obj["metadata"].get("creationTimestamp")
    return Elapsed(epoch(time)) if time else UNKNOWN


def part(obj: JsonObject, *names: str) -> JsonObject:
    """A struct within an object, empty where it is missing."""
    for name in names:
        obj = obj.get(name) or {}
    return obj


def joined(texts: Sequence[str], otherwise: str = NONE) -> str:
    return ",".join(texts) or otherwise


def first_of(texts: Sequence[str], count: int, most: int = 3) -> str:
    """The first few, and how many more there are; `texts` need not hold more than `most` + 1."""
    shown = ",".join(texts[:most])
    return f"{shown} + {count - most} more..." if count > most else shown or UNSET


def labels_text(labels: dict[str, str] | None) -> str:
    """a=b,c=d in the order of the keys; "<none>" without any."""
    return ",".join([f"{key}={labels[key]}" for key in sorted(labels)]) or NONE if labels else NONE


def containers(template: JsonObject) -> list[Cell]:
    """Names and images of a pod template's containers."""
    found = part(template, "spec").get("containers") or ()
    return [",".join([one.get("name", "") for one in found]), ",".join([one.get("image", "") for one in found])]
