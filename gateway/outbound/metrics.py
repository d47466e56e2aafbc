"""Metrics of calls to other servers, under client-go's names."""

from __future__ import annotations

from collections import OrderedDict

from storage.instruments import Counter, Histogram, by, counter, histogram, owners

_OF = (by("host", "host"),)
REQUESTS = counter("rest_client_requests_total", "Calls of other servers, by result.", "code", "method", "host", of=_OF)
DURATION = histogram(
    "rest_client_request_duration_seconds",
    "Time until the response headers of another server arrived.",
    "verb",
    "host",
    buckets=(0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60),
    of=_OF,
)
_ERROR = "<error>"
_MOST = 256  # servers: clients that may proxy to a pod can choose any port


class _Hosts:
    """The most recently called servers, with their metric children."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, int], dict[tuple[str, int], tuple[Counter, Histogram]]] = OrderedDict()

    def children(self, host: str, port: int, method: str, status: int) -> tuple[Counter, Histogram]:
        """The counter and histogram for calls to one server. It forgets the least recently called of too many."""
        key = host, port
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = {}
            owners.enter(("host", f"{host}:{port}"))
            if len(self._known) > _MOST:
                (gone, at), _ = self._known.popitem(last=False)
                owners.leave(("host", f"{gone}:{at}"))
        else:
            self._known.move_to_end(key)
        found = known.get((method, status))
        if found is None:
            place = f"{host}:{port}"
            code = str(status) if status else _ERROR
            found = known[method, status] = REQUESTS.labels(code, method, place), DURATION.labels(method, place)
        return found


_hosts = _Hosts()


def called(method: str, host: str, port: int, status: int, seconds: float) -> None:
    """Counts a call; `status` is 0 if it failed without an answer."""
    requests, duration = _hosts.children(host, port, method, status)
    requests.value += 1
    duration.observe(seconds)
