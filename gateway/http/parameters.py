"""Converts query parameters to integers and booleans by the rules of Kubernetes."""

from __future__ import annotations

from gateway.http.status import bad_request
from gateway.schema.integers import parse_int
from gateway.validation.field import go_quote


def integer(text: str) -> int:
    """A decimal 64-bit integer. Raises StatusError 400 with Go's message."""
    try:
        return parse_int(text)
    except ValueError as fault:
        raise bad_request(f"strconv.ParseInt: parsing {go_quote(text)}: {fault}") from None


def boolean(text: str) -> bool:
    """Any text but "false" and "0" is true, also the empty one."""
    return text.lower() not in ("false", "0")
