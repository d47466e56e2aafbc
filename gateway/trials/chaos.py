"""A random schedule of faults, only such as Kubernetes allows at any time, drawn from a seed.

The fault of a request depends only on the seed, on the request's verb, resource and name, and on how often such a
request came before. So the order of different clients' requests does not matter. After two faults in a row, the next
such request gets none, so that retries succeed.
"""

from __future__ import annotations

from random import Random

from gateway.requests.context import RequestContext
from gateway.trials.answers import InjectedAnswer, made

MOST_KNOWN = 10_000  # different requests whose counts are kept
IN_A_ROW = 2  # faults

_ANYTHING = (
    made("too_many_requests", retry_after=1),
    made("server_timeout", retry_after=1),
    made("timed_out"),
    made("reset_before"),
    made("latency", seconds=0.05),
)
_WRITES = (*_ANYTHING, made("timed_out_after_write"), made("reset_after"))
_CHOICES = {
    "create": _WRITES,
    "update": (*_WRITES, made("conflict"), made("conflict"), made("conflict")),
    "patch": _WRITES,
    "delete": _WRITES,
    "deletecollection": _WRITES,
    "get": (*_ANYTHING, made("stale_reads", changes=2)),
    "list": (*_ANYTHING, made("stale_reads", changes=2)),
    "watch": (
        *_ANYTHING,
        *(made("watch_ends", after=after) for after in (0.0, 0.3, 1.0)),
        *(made("watch_gone", after=after) for after in (0.0, 0.3)),
        made("watch_late", seconds=0.3),
        made("watch_reset", after=0.3),
    ),
}


class Schedule:
    """The schedule of one seed. `intensity` is the share of the requests that get a fault, from 0 to 1."""

    def __init__(self, seed: int, intensity: float) -> None:
        self._seed, self._intensity = seed, intensity
        self._known: dict[str, tuple[int, int]] = {}  # how often a request came, and its last faults in a row

    def pick(self, context: RequestContext | None, about: str) -> InjectedAnswer | None:
        """The fault of the next request, None for no fault. `about` is its verb, group, resource, subresource, name."""
        count, row = self._known.get(about, (0, 0))
        if len(self._known) >= MOST_KNOWN and about not in self._known:
            self._known.clear()
        draw = Random(f"{self._seed} {about} {count}")
        choices = _CHOICES.get(about.partition(" ")[0], ())
        hit = bool(choices) and row < IN_A_ROW and draw.random() < self._intensity
        self._known[about] = (count + 1, row + 1 if hit else 0)
        if not hit:
            return None
        answer = draw.choice(choices)
        if context is not None and answer.concerns is not None and not answer.concerns(context):
            return None
        return answer


def chaos(seed: int, intensity: float = 0.2) -> InjectedAnswer:
    """The answer `chaos`: random faults, the same ones each time for the same seed."""
    return InjectedAnswer(pick=Schedule(seed, min(1.0, max(0.0, intensity))).pick)
