"""The `timeout` query parameter: how long the client of a request will wait."""

from __future__ import annotations

import re

from gateway.http.status import StatusError, bad_request
from gateway.jsontypes import dumps
from gateway.validation.field import go_quote

MAXIMUM = 60.0  # seconds; the default of --request-timeout

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_TERM = re.compile(r"(\d+\.?\d*|\.\d+)([^\d.]*)")


class InvalidDuration(ValueError):
    """Go's time.ParseDuration would refuse the text; the message is Go's."""


def request_timeout(text: str, most: float = MAXIMUM) -> float:
    """Seconds until the request's deadline: those of the `timeout` parameter, at most `most`; `most` if they are not
    positive. Raises StatusError 400.
    """
    try:
        seconds = parse_duration(text)
    except InvalidDuration as error:
        raise bad_request(f"invalid timeout specified in the request URL - {error}") from None
    return min(seconds, most) if seconds > 0 else most


def parse_duration(text: str) -> float:
    """Go's duration syntax ("1m30s", "-5s", "0") in seconds; raises InvalidDuration."""
    unsigned = text[1:] if text[:1] in ("+", "-") else text
    if unsigned == "0":
        return 0.0
    total, position = 0.0, 0
    while position < len(unsigned):
        term = _TERM.match(unsigned, position)
        if term is None:
            raise InvalidDuration(f"time: invalid duration {go_quote(text)}")
        number, unit = term.groups()
        if not unit:
            raise InvalidDuration(f"time: missing unit in duration {go_quote(text)}")
        if unit not in _UNITS:
            raise InvalidDuration(f"time: unknown unit {go_quote(unit)} in duration {go_quote(text)}")
        total += float(number) * _UNITS[unit]
        position = term.end()
    if not unsigned:
        raise InvalidDuration(f"time: invalid duration {go_quote(text)}")
    return -total if text[0] == "-" else total


class TimedOut(StatusError):
    """504 as kube-apiserver's timeout filter sends it: a Status without kind and apiVersion, as plain text."""

    def body(self) -> bytes:
        """See StatusError."""
        return (
            dumps({name: value for name, value in self.status().items() if name not in ("kind", "apiVersion")}) + b"\n"
        )


def timed_out() -> TimedOut:
    """The error 504 for a request that has passed its deadline."""
    return TimedOut(504, "Timeout", "Timeout: request did not complete within the allotted timeout", {})
