"""Finds the pods of a namespace that violate a stricter policy, for warnings."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from gateway.admission.podsecurity.check import PodUnderCheck
from gateway.admission.podsecurity.levels import LevelVersion
from gateway.admission.podsecurity.registry import NEWEST, violations_of
from gateway.jsontypes import JsonObject
from gateway.validation.field import go_quote
from storage.entry import Entry

MOST_PODS = 3000
TIME = 1.0  # seconds
_SLICE = 0.005  # seconds between turns of other tasks on the event loop


@dataclass(slots=True)
class _Chosen:
    """Pods in the order in which they are checked: one of each controller and those without a controller come first."""

    first: list[JsonObject] = field(default_factory=list)
    others: list[JsonObject] = field(default_factory=list)
    exempt: int = 0

    @property
    def pods(self) -> list[JsonObject]:
        return [*self.first, *self.others][:MOST_PODS]


class _Pace:
    """Gives other tasks turns on the event loop, and knows when the time for the scan is over."""

    def __init__(self) -> None:
        self._end = time.monotonic() + TIME
        self._pause = time.monotonic() + _SLICE

    async def over(self) -> bool:
        """Whether the time for the scan is over. May give other tasks a turn first."""
        now = time.monotonic()
        if now >= self._pause:
            await asyncio.sleep(0)
            now = time.monotonic()
            self._pause = now + _SLICE
        return now >= self._end


async def warnings_of(
    entries: Sequence[Entry],
    namespace: str,
    policy: LevelVersion,
    exempt: Callable[[JsonObject], bool],
    newest: int = NEWEST,
) -> list[str]:
    """The warnings for a namespace with these pods that gets a stricter policy.

    `exempt` says whether pods with a spec are exempt; `newest` is the minor that is served. The scan ends after about
    a second (`TIME`), or after 3 000 pods (`MOST_PODS`).
    """
    pace = _Pace()
    chosen = await _choose(entries, exempt, pace)
    found: dict[str, list[str]] = {}
    looked_at = 0
    for pod in chosen.pods:
        looked_at += 1
        subject = PodUnderCheck(pod["metadata"], pod["spec"])
        reasons = ", ".join(each.reason for each in await violations_of(policy, subject, newest))
        if reasons:
            found.setdefault(reasons, []).append(pod["metadata"]["name"])
        if await pace.over():
            break
    warnings, total = [], len(entries) - chosen.exempt
    if looked_at < total:
        warnings.append(
            f"new PodSecurity enforce level only checked against the first {looked_at} of {total} existing pods"
        )
    if found:
        where, level = go_quote(namespace), go_quote(str(policy))
        warnings.append(f"existing pods in namespace {where} violate the new PodSecurity enforce level {level}")
    return warnings + sorted(f"{_named(names)}: {reasons}" for reasons, names in found.items())


async def _choose(entries: Sequence[Entry], exempt: Callable[[JsonObject], bool], pace: _Pace) -> _Chosen:
    chosen = _Chosen()
    controllers: set[str] = set()
    for entry in entries:
        if entry.readable is None:
            continue
        pod = entry.parsed()
        if exempt(pod["spec"]):
            chosen.exempt += 1
        elif (controller := _controller(pod)) and controller in controllers:
            if len(chosen.others) < MOST_PODS:
                chosen.others.append(pod)
        else:
            controllers.add(controller)
            chosen.first.append(pod)
        if len(chosen.first) >= MOST_PODS or await pace.over():
            break
    return chosen


def _controller(pod: JsonObject) -> str:
    """The uid of the pod's controller; empty if it has none."""
    owners = pod["metadata"].get("ownerReferences") or ()
    return next((owner.get("uid", "") for owner in owners if owner.get("controller")), "")


def _named(names: Sequence[str]) -> str:
    """The first of the pods by name, and how many others there are."""
    first, others = min(names), len(names) - 1
    if not others:
        return first
    return f"{first} (and {others} other {'pod' if others == 1 else 'pods'})"
