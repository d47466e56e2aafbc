"""Where a request's time goes: how long each stage took, and how long it waited within them, by name.

Code that waits for another server (etcd, a webhook) for a request notes the time here. Metrics, the log of slow
requests and audit annotations read it and measure nothing themselves. Where a request is traced, a wait can be a span,
and what is asked of others carries the context of the trace.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from typing import Any, Protocol

MOST = 1000


class Trace(Protocol):
    """The trace that a request is part of, where traces are configured."""

    def span(self, name: str, attributes: Mapping[str, str]) -> AbstractContextManager[object]:
        """A context manager: what is done within is a span below the present one."""
        ...

    def headers(self) -> Sequence[tuple[str, str]]:
        """The headers that carry the context of the trace and of the present span (W3C Trace Context)."""
        ...


Spoil = Callable[[str], Coroutine[Any, Any, str]]
Hear = Callable[[str, float, int, bool], None]


class Times:
    """The times of one request, seconds of the monotonic clock.

    `began` is when it came. `trace` is None where it is not traced. `waits` are a name, a
    beginning and an end each: at most `MOST`, the rest is left out.
    """

    trace: Trace | None = None
    # those that tests set: by a webhook's name, why it fails, "" where it is called; and who is told what came of it
    # (name, seconds, code, whether it refused)
    spoil: Spoil | None = None
    hear: Hear | None = None

    def __init__(self, began: float) -> None:
        self.began = began
        self.waits: list[tuple[str, float, float]] = []

    def took(self, name: str, began: float, ended: float) -> None:
        """Something of that name went on from one moment to another; what has a name may come several times."""
        if len(self.waits) < MOST:
            self.waits.append((name, began, ended))

    def seconds(self, name: str) -> float:
        """How long all that has that name took; 0 for what was done at once."""
        return sum(ended - began for each, began, ended in self.waits if each == name)


current: ContextVar[Times | None] = ContextVar("times", default=None)
"""The timings of the request for which a task runs; None for other tasks."""


_NO_SPAN: AbstractContextManager[None] = nullcontext()


def span(name: str, **attributes: str) -> AbstractContextManager[object]:
    """A context manager: a span of the request's trace; does nothing where it is not traced."""
    times = current.get()
    trace = None if times is None else times.trace
    return _NO_SPAN if trace is None else trace.span(name, attributes)


def trace_headers() -> Sequence[tuple[str, str]]:
    """The headers, or gRPC metadata, by which others join the trace of the request that they are asked for."""
    times = current.get()
    trace = None if times is None else times.trace
    return () if trace is None else trace.headers()


acting: ContextVar[str] = ContextVar("acting", default="")
"""In whose name a task writes that no request asked for."""
