"""The parameters of a query as Kubernetes converts them to Go's types."""

from __future__ import annotations

from gateway.http.status import bad_request
from gateway.schema.integers import parse_int
from gateway.validation.field import go_quote


def integer(text: str) -> int:
    """A decimal number of 64 bits. Raises StatusError 400 in Go's words."""
    try:
        return parse_int(text)
    except ValueError as fault:
        raise bad_request(f"strconv.ParseInt: parsing {go_quote(text)}: {fault}") from None


def boolean(text: str) -> bool:
    """Whatever is not "false" or "0" is true, nothing at all too."""
    return text.lower() not in ("false", "0")
