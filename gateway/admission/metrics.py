"""How long admission takes, as a whole and by plug-in, under kube-apiserver's names."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from time import perf_counter
from typing import Protocol

from gateway.admission.record import Admission
from gateway.kinds.attributes import Operation
from storage.instruments import Histogram, histogram

ADMIT, VALIDATE = "admit", "validate"
Look = Callable[[Admission], Awaitable[None] | None]
_BUCKETS = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5)
_STEPS = histogram(
    "apiserver_admission_step_admission_duration_seconds",
    "How long the mutating and the validating half of admission take.",
    *("type", "operation", "rejected"),
    buckets=_BUCKETS,
    level="STABLE",
)
_CONTROLLERS = histogram(
    "apiserver_admission_controller_admission_duration_seconds",
    "How long admission plug-ins take that have something to say of a request.",
    *("name", "type", "operation", "rejected"),
    buckets=_BUCKETS,
    level="STABLE",
)


class Idle(Protocol):
    """What may have nothing to say of any write, as webhooks while there are none."""

    idle: bool


class Timed:
    """A review, and the histograms of its durations by outcome. It is not asked while its `idle` is."""

    __slots__ = ("_labels", "accepted", "idle", "look")

    def __init__(self, look: Look, idle: Idle | None, *labels: str) -> None:
        self.look, self.idle, self._labels = look, idle, labels
        self.accepted: Histogram | None = None  # which is there once there is something to tell

    def begin(self) -> Histogram:
        """What counts those that are accepted, from the first run on."""
        self.accepted = _CONTROLLERS.labels(*self._labels, "false")
        return self.accepted

    def refused(self, seconds: float) -> None:
        """Counts one that is refused."""
        _CONTROLLERS.labels(*self._labels, "true").observe(seconds)


_Step = tuple[Look, Idle | None, Histogram, list[int], Timed]
"""A review taken apart: what it does, when it is not asked, what counts those it accepts, and its counts."""


class Half:
    """The reviews of one half of admission for one operation, in their order."""

    __slots__ = ("_labels", "_passed", "_steps", "looks")

    def __init__(self, looks: Iterable[Timed], half: str, operation: Operation) -> None:
        self.looks, self._labels = tuple(looks), (half, operation.value)
        self._passed = _STEPS.labels(*self._labels, "false")
        self._steps: tuple[_Step, ...] | None = None  # which are there from the first run on

    async def run(self, admission: Admission) -> None:
        """Runs the reviews one after the other, and all again where one wants that. Raises the first refusal.

        Durations are observed of those that are waited for; the others take next to no time.
        """
        step, began, each = 0.0, 0.0, None
        steps = self._begin() if self._steps is None else self._steps
        try:
            while True:
                for look, idle, accepted, counts, each in steps:  # noqa: B007 - of the refusal
                    waiting = look(admission) if idle is None or not idle.idle else None
                    if waiting is None:
                        counts[0] += 1
                        continue
                    began = perf_counter()
                    step = step or began
                    await waiting
                    accepted.observe(perf_counter() - began)
                    began = 0.0
                if not admission.reinvoke or admission.reinvoked:
                    break
                admission.reinvoked = True
        except Exception:
            if each is not None:
                each.refused(_since(began))
            _STEPS.labels(*self._labels, "true").observe(_since(step))
            raise
        if step:
            self._passed.observe(_since(step))
        else:
            self._passed.counts[0] += 1

    def _begin(self) -> tuple[_Step, ...]:
        found = [(each, each.begin()) for each in self.looks]
        self._steps = tuple((each.look, each.idle, accepted, accepted.counts, each) for each, accepted in found)
        return self._steps


def timed(look: Look, name: str, half: str, operation: Operation, idle: Idle | None = None) -> Timed:
    """One half of a plug-in, whose durations are observed."""
    return Timed(look, idle, name, half, operation.value)


def _since(began: float) -> float:
    """Seconds; none where nothing has begun."""
    return perf_counter() - began if began else 0.0
