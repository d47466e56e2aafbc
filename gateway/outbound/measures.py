"""Metrics of calls of other servers, under the names of client-go's."""

from __future__ import annotations

from functools import lru_cache

from storage.instruments import Counter, Histogram, counter, histogram

REQUESTS = counter(
    "rest_client_requests_total", "Calls of other servers, by what came of them.", "code", "method", "host"
)
DURATION = histogram(
    "rest_client_request_duration_seconds",
    "Time until the head of another server's answer came.",
    "verb",
    "host",
    buckets=(0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60),
)
_ERROR = "<error>"


def called(method: str, host: str, port: int, status: int, seconds: float) -> None:
    """Counts a call; `status` is 0 if it failed without an answer."""
    requests, duration = _children(method, host, port, status)
    requests.value += 1
    duration.observe(seconds)


@lru_cache(1024)
def _children(method: str, host: str, port: int, status: int) -> tuple[Counter, Histogram]:
    place = f"{host}:{port}"
    return REQUESTS.labels(str(status) if status else _ERROR, method, place), DURATION.labels(method, place)
