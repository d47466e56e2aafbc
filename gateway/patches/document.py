"""Reads the body of a JSON or strategic merge patch with the wording that Go's JSON decoder has for bad ones."""

from __future__ import annotations

from typing import Any

from gateway.http.status import bad_request
from gateway.schema.body import DecodeError, parse_body


def go_kind(value: Any) -> str:
    """What Go's decoder calls a JSON value."""
    match value:
        case bool():
            return "bool"
        case str():
            return "string"
        case int() | float():
            return "number"
        case list():
            return "array"
        case None:
            return "null"
        case _:
            return "object"


def parse(
    body: bytes, expected: Any, go_type: str, prefix: str = "", float_place: str = "value"
) -> tuple[Any, list[str]]:
    """The value of `body` and the messages about its duplicate fields; raises 400 unless it is JSON and `expected`.

    `go_type` is what the error calls the expected type, `float_place` where a number is that no float64 can hold; null
    is accepted for any.
    """
    try:
        value, duplicates = parse_body(body, float_place)
    except DecodeError as error:
        raise bad_request(f"{prefix}{error}") from None
    if value is not None and not isinstance(value, expected):
        raise bad_request(f"{prefix}json: cannot unmarshal {go_kind(value)} into Go value of type {go_type}")
    return value, list(duplicates)
