"""Reads the body of a patch. Errors have the wording of Go's JSON decoder."""

from __future__ import annotations

from typing import Any

from gateway.http.status import bad_request
from gateway.schema.body import DecodeError, parse_body


def go_kind(value: Any) -> str:
    """The kind of a decoded JSON value, as errors of Go's decoder call it: "bool", "string", "number", ..."""
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
    """Returns the value of `body`, and the messages about its duplicate fields.

    Raises StatusError 400 if the body is not JSON, or its value is neither null nor of the Python type `expected`.
    Errors begin with `prefix` and call the expected type `go_type`. The error about a number that no float64 can hold
    calls its place `float_place`.
    """
    try:
        value, duplicates = parse_body(body, float_place)
    except DecodeError as error:
        raise bad_request(f"{prefix}{error}") from None
    if value is not None and not isinstance(value, expected):
        raise bad_request(f"{prefix}json: cannot unmarshal {go_kind(value)} into Go value of type {go_type}")
    return value, list(duplicates)
