"""Fails a test in which a plug-in of admission changed an object in place.

A plug-in that changes an object returns a record with a copy of it (`Admission.changed`). The strategies of kinds come
after admission, and change what is then theirs.
"""

from __future__ import annotations

import inspect
from typing import Any

import orjson

from gateway.admission.metrics import Idle, Look, Timed
from gateway.admission.record import Admission, Found


def compare_records() -> None:
    """Compares the objects of each record before and after each plug-in of the chains that are compiled from now on."""
    make = Timed.__init__

    def compared(self: Timed, look: Look, idle: Idle | None, name: str, *labels: str) -> None:
        make(self, _unchanging(look, name), idle, name, *labels)

    Timed.__init__ = compared  # type: ignore[assignment,method-assign]  # of all chains


def _unchanging(look: Look, name: str) -> Look:
    def looking(admission: Admission) -> Found:
        before = _objects(admission)
        found = look(admission)
        if inspect.isawaitable(found):
            return awaited(found, admission, before)
        assert _objects(admission) == before, f"{name} changes an object in place"
        return found

    async def awaited(found: Any, admission: Admission, before: bytes) -> Admission | None:
        after: Admission | None = await found
        assert _objects(admission) == before, f"{name} changes an object in place"
        return after

    return looking


def _objects(admission: Admission) -> bytes:
    return orjson.dumps([admission.obj, admission.old], default=repr)
