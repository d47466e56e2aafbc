"""The model of a kind's Table: column definitions, and the cells of one object.

Cells do not depend on the current time: an age is an `Elapsed`, which becomes text when the cell is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from gateway.jsontypes import JsonObject
from gateway.kinds.columns.durations import aging, epoch, seconds_between

NONE, UNSET, UNKNOWN = "<none>", "<unset>", "<unknown>"


class Elapsed(NamedTuple):
    """A cell that shows the time since a moment, with text before and after it."""

    since: float  # seconds since 1970
    before: str = ""
    after: str = ""

    def text_until(self, now: float) -> tuple[str, float]:
        """The cell's text at the time `now`, and the time from which it may differ."""
        text, step = aging(seconds_between(self.since, now))
        return self.before + text + self.after, self.since + ((now - self.since) // step + 1) * step


Cell = str | int | float | bool | Elapsed | None


class Column(NamedTuple):
    """One column definition; priority 0 is always shown, 1 with -o wide."""

    name: str
    type: str = "string"
    format: str = ""
    priority: int = 0
    field: str = ""  # its description is the column's; a type below io.k8s and a field: "api.core.v1.PodStatus.podIP"
    description: str = ""  # if it does not come from `field`


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a kind, and the functions that make cells and conditions of a row from an object."""

    definitions: tuple[Column, ...]
    cells: Callable[[JsonObject], list[Cell]]
    conditions: Callable[[JsonObject], tuple[str, str] | None] | None = None  # reason and message of Completed
    order: Callable[[JsonObject], Any] | None = None  # sort key of a list; None: by etcd key
    no_rows: bytes = b"[]"  # `rows` of an empty list
    form: str = ""  # the apiVersion that `cells` reads, if it is not the served one
    weight: int = 1  # time that the cells take for a byte of an object, relative to other kinds


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
"""The columns of kinds without columns of their own."""


def since(time: str | None, before: str = "", after: str = "") -> Cell:
    """A cell with the time since an RFC 3339 time; "<unknown>" without one."""
    return Elapsed(epoch(time), before, after) if time else f"{before}{UNKNOWN}{after}"


def age(obj: JsonObject) -> Cell:
    time = obj["metadata"].get("creationTimestamp")
    return Elapsed(epoch(time)) if time else UNKNOWN


def part(obj: JsonObject, *names: str) -> JsonObject:
    """A struct within an object; an empty one if it is missing."""
    for name in names:
        obj = obj.get(name) or {}
    return obj


def joined(texts: Sequence[str], otherwise: str = NONE) -> str:
    return ",".join(texts) or otherwise


def first_of(texts: Sequence[str], count: int, most: int = 3) -> str:
    """The first `most` of `count` texts, and the number of the others, which may be missing in `texts`."""
    shown = ",".join(texts[:most])
    return f"{shown} + {count - most} more..." if count > most else shown or UNSET


def labels_text(labels: dict[str, str] | None) -> str:
    """Labels as "a=b,c=d", sorted by key; "<none>" without labels."""
    return ",".join([f"{key}={labels[key]}" for key in sorted(labels)]) or NONE if labels else NONE


def containers(template: JsonObject) -> list[Cell]:
    """Two cells: names and images of a pod template's containers."""
    found = part(template, "spec").get("containers") or ()
    return [",".join([one.get("name", "") for one in found]), ",".join([one.get("image", "") for one in found])]
