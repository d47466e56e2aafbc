"""Values of expressions as JSON: what a mutation puts into an object."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from gateway.cel.conversions import CONVERSIONS
from gateway.cel.values import Duration, EvaluationError, Optional, Timestamp, type_name

LARGEST = 16 << 20  # characters and values that one mutation may come to: an expression can name an object many times
_SAFE = 1 << 53  # integers beyond are strings, as in protobuf's JSON


class JsonValues:
    """Makes JSON of the values of one mutation; `exact` keeps large integers, which are strings otherwise."""

    __slots__ = ("_exact", "_left")

    def __init__(self, *, exact: bool) -> None:
        self._exact, self._left = exact, LARGEST

    def of(self, value: Any) -> Any:
        """The JSON of a value. Raises EvaluationError for what has none, and for too much of it."""
        self._left -= len(value) + 1 if isinstance(value, str | bytes) else 1
        if self._left < 0:
            raise EvaluationError(f"a mutation may not come to more than {LARGEST} bytes")
        if value is None or isinstance(value, str | bool | float):
            return value
        if isinstance(value, int):
            number = int(value)
            return number if self._exact or -_SAFE < number < _SAFE else str(number)
        if isinstance(value, bytes):
            return b64encode(value).decode()
        if isinstance(value, dict):
            return {self._key(name): self.of(each) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.of(each) for each in value]
        if isinstance(value, Timestamp | Duration):
            return CONVERSIONS["timestamp_to_string" if isinstance(value, Timestamp) else "duration_to_string"](value)
        if isinstance(value, Optional) and value.present:
            return self.of(value.value)
        raise EvaluationError(f"unsupported type {type_name(value)}")

    def _key(self, name: Any) -> str:
        if not isinstance(name, str):
            raise EvaluationError(f"map key {name} is of type {type_name(name)}, not string")
        self._left -= len(name)
        return name
