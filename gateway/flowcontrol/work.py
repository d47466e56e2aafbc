"""How many seats a request takes (KEP-1040, "Width of requests").

One; more for a list of many bytes, and for a write that is sent to many watches.
"""

from __future__ import annotations

from collections.abc import Callable

from gateway.http.exchange import Request
from gateway.http.request_info import RequestInfo

BYTES_A_SEAT = 100_000
MOST_BYTES = 1_000_000  # of a list that count: a longer one is sent piece by piece
MOST_SEATS = 100
WATCHES_A_SEAT = 10
MOST_WRITE_SEATS = 10
TELLING = 0.005  # seconds that a seat's watches take to be told of a write

Sizes = Callable[[RequestInfo], tuple[int, int]]
"""The number of objects that a resource has, and their bytes; (0, 0) for one that is not known."""


def seats_of(request: Request, sizes: Sizes, widest: int) -> int:
    """The seats of a read, at most `widest` (0 is no limit). Lists and watches that begin with one may take several."""
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


def after_write(info: RequestInfo, watches: int, widest: int) -> tuple[int, float]:
    """The seats of a write that is sent to `watches` watches, and for how many seconds it keeps them after its end.

    If it gets fewer seats than it needs for that, it keeps them for longer.
    """
    if watches < WATCHES_A_SEAT or (info.resource, info.subresource) == ("serviceaccounts", "token"):
        return 1, 0.0
    wanted = -(-watches // WATCHES_A_SEAT)
    seats = min(wanted, widest or MOST_WRITE_SEATS, MOST_WRITE_SEATS)
    return seats, TELLING * wanted / seats
