"""How long admission takes, as a whole and by plug-in, under kube-apiserver's names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Protocol

from gateway.admission.record import Admission, Found
from gateway.kinds.attributes import Operation
from storage.instruments import Histogram, histogram

ADMIT, VALIDATE = "admit", "validate"
Look = Callable[[Admission], Found]
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
    "Duration of admission plug-ins that handle a request.",
    *("name", "type", "operation", "rejected"),
    buckets=_BUCKETS,
    level="STABLE",
)


class Idle(Protocol):
    """Says whether a plug-in has nothing to do for any write, for example while there are no webhooks."""

    idle: bool


class Timed:
    """A review, and the histograms of its durations by outcome. It is not called while `idle.idle` is true."""

    __slots__ = ("_labels", "accepted", "idle", "look")

    def __init__(self, look: Look, idle: Idle | None, *labels: str) -> None:
        self.look, self.idle, self._labels = look, idle, labels
        self.accepted: Histogram | None = None  # made at the first run

    def begin(self) -> Histogram:
        """Makes the histogram of accepted admissions, at the first run."""
        self.accepted = _CONTROLLERS.labels(*self._labels, "false")
        return self.accepted

    def refused(self, seconds: float) -> None:
        """Counts a refused admission."""
        _CONTROLLERS.labels(*self._labels, "true").observe(seconds)


_Step = tuple[Look, Idle | None, Histogram, list[int], Timed]
"""The parts of a `Timed`, unpacked for speed: review, idle, histogram of accepted admissions, its buckets, itself."""


class AdmissionHalf:
    """The reviews of one half of admission for one operation, in their order."""

    __slots__ = ("_labels", "_passed", "_steps", "looks")

    def __init__(self, looks: Iterable[Timed], half: str, operation: Operation) -> None:
        self.looks, self._labels = tuple(looks), (half, operation.value)
        self._passed = _STEPS.labels(*self._labels, "false")
        self._steps: tuple[_Step, ...] | None = None  # made at the first run

    async def run(self, admission: Admission) -> Admission:
        """Runs the reviews in their order, each on the record that the one before has returned; all of them once more
        if one asks for that (`reinvoke`). Returns the last record. Raises the first refusal.

        Only awaited reviews are timed; the others are counted in the lowest bucket.
        """
        step, began, each = 0.0, 0.0, None
        steps = self._begin() if self._steps is None else self._steps
        try:
            while True:
                for look, idle, accepted, counts, each in steps:  # noqa: B007 - of the refusal
                    found = look(admission) if idle is None or not idle.idle else None
                    if found is None:
                        counts[0] += 1
                        continue
                    if isinstance(found, Admission):
                        counts[0] += 1
                        admission = found
                        continue
                    began = perf_counter()
                    step = step or began
                    admission = await found or admission
                    accepted.observe(perf_counter() - began)
                    began = 0.0
                if not admission.reinvoke or admission.reinvoked:
                    break
                admission = admission.second_run()
        except Exception:
            if each is not None:
                each.refused(_since(began))
            _STEPS.labels(*self._labels, "true").observe(_since(step))
            raise
        if step:
            self._passed.observe(_since(step))
        else:
            self._passed.counts[0] += 1
        return admission

    def _begin(self) -> tuple[_Step, ...]:
        found = [(each, each.begin()) for each in self.looks]
        self._steps = tuple((each.look, each.idle, accepted, accepted.counts, each) for each, accepted in found)
        return self._steps


def timed(look: Look, name: str, half: str, operation: Operation, idle: Idle | None = None) -> Timed:
    """One half of a plug-in, as a review with histograms of its durations."""
    return Timed(look, idle, name, half, operation.value)


def _since(began: float) -> float:
    """The seconds since `began`; 0 if that is 0."""
    return perf_counter() - began if began else 0.0
