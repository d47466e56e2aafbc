"""The times of a request: how long its stages took, and how long it waited within them, by name.

Code that waits for another server (etcd, a webhook) notes the time here. Metrics, the log of slow requests and audit
annotations read these times and measure nothing themselves. In a traced request a wait can be a span, and outgoing
requests carry the trace context.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from typing import Any, Protocol

MOST = 1000


class Trace(Protocol):
    """The trace of a request, if tracing is configured."""

    def span(self, name: str, attributes: Mapping[str, str]) -> AbstractContextManager[object]:
        """A context manager that records its block as a child span of the current one."""
        ...

    def headers(self) -> Sequence[tuple[str, str]]:
        """The headers with the trace context of the current span (W3C Trace Context)."""
        ...


Spoil = Callable[[str], Coroutine[Any, Any, str]]
Hear = Callable[[str, float, int, bool], None]


class Times:
    """The times of one request, in seconds of the monotonic clock.

    `began` is its arrival. `trace` is None if it is not traced. Each of the `waits` is a name, a start and an end; only
    the first `MOST` are kept.
    """

    trace: Trace | None = None
    # For tests of webhooks. `spoil`: a webhook's name -> why its call fails, "" for a real call. `hear` gets the result
    # of each call: name, seconds, status code, whether it refused the request.
    spoil: Spoil | None = None
    hear: Hear | None = None

    def __init__(self, began: float) -> None:
        self.began = began
        self.waits: list[tuple[str, float, float]] = []

    def took(self, name: str, began: float, ended: float) -> None:
        """Adds a wait, from `began` to `ended`. A name may have several waits."""
        if len(self.waits) < MOST:
            self.waits.append((name, began, ended))

    def seconds(self, name: str) -> float:
        """The total time of all waits of a name; 0 without one."""
        return sum(ended - began for each, began, ended in self.waits if each == name)


current: ContextVar[Times | None] = ContextVar("times", default=None)
"""The `Times` of the request for which a task runs; None for other tasks."""


_NO_SPAN: AbstractContextManager[None] = nullcontext()


def span(name: str, **attributes: str) -> AbstractContextManager[object]:
    """A context manager: a span of the request's trace; does nothing if the request is not traced."""
    times = current.get()
    trace = None if times is None else times.trace
    return _NO_SPAN if trace is None else trace.span(name, attributes)


def trace_headers() -> Sequence[tuple[str, str]]:
    """The trace headers (or gRPC metadata) for an outgoing request; empty if the request is not traced."""
    times = current.get()
    trace = None if times is None else times.trace
    return () if trace is None else trace.headers()


acting: ContextVar[str] = ContextVar("acting", default="")
"""The user name for the writes of a background task, which has no request."""
