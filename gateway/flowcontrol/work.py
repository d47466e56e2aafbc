"""How many seats a request takes: one, but for lists of many bytes (KEP-1040, "Width of requests")."""

from __future__ import annotations

from collections.abc import Callable

from gateway.http.exchange import Request
from gateway.http.request_info import RequestInfo

BYTES_A_SEAT = 100_000
MOST_BYTES = 1_000_000  # of a list that counts: a longer one is sent piece by piece
MOST_SEATS = 100

Sizes = Callable[[RequestInfo], tuple[int, int]]
"""The number of objects that a resource has, and their bytes; (0, 0) for one that is not known."""


def seats_of(request: Request, sizes: Sizes, widest: int) -> int:
    """The seats of a list or watch among at most `widest` (0 is any)."""
    info = request.info
    if info.verb not in ("list", "watch") or info.name:
        return 1
    if info.verb == "watch" and not _begins_with_a_list(request):
        return 1
    count, size = sizes(info)
    if not count:
        return 1
    limit = request.parameter("limit")
    shown = min(count, int(limit)) if limit.isascii() and limit.isdigit() and 0 < len(limit) < 10 else count
    used = min(shown * (size / count), MOST_BYTES)
    return max(1, min(-int(-used // BYTES_A_SEAT), widest or MOST_SEATS, MOST_SEATS))


def _begins_with_a_list(request: Request) -> bool:
    return request.parameter("sendInitialEvents") == "true" or request.parameter("resourceVersion") in ("", "0")
