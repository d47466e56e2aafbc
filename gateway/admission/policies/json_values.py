"""Values of expressions as JSON: what a mutation puts into an object."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from gateway.cel.conversions import CONVERSIONS
from gateway.cel.values import Duration, EvaluationError, Optional, Timestamp, type_name

_SAFE = 1 << 53  # integers beyond are strings, as in protobuf's JSON


def json_value(value: Any, *, exact: bool) -> Any:
    """The JSON of a value; `exact` keeps large integers, which are strings otherwise. Raises EvaluationError."""
    if value is None or isinstance(value, str | bool | float):
        return value
    if isinstance(value, int):
        number = int(value)
        return number if exact or -_SAFE < number < _SAFE else str(number)
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, dict):
        return {_key(name): json_value(each, exact=exact) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(each, exact=exact) for each in value]
    if isinstance(value, Timestamp | Duration):
        return CONVERSIONS["timestamp_to_string" if isinstance(value, Timestamp) else "duration_to_string"](value)
    if isinstance(value, Optional) and value.present:
        return json_value(value.value, exact=exact)
    raise EvaluationError(f"unsupported type {type_name(value)}")


def _key(name: Any) -> str:
    if isinstance(name, str):
        return name
    raise EvaluationError(f"map key {name} is of type {type_name(name)}, not string")
