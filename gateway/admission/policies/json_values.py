"""Values of expressions as JSON: what a mutation puts into an object."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from gateway.admission.policies.keyed_maps import Unfit
from gateway.cel.conversions import CONVERSIONS
from gateway.cel.values import Duration, EvaluationError, Optional, Timestamp, TypeValue, type_name

_SAFE = 1 << 53  # larger integers are strings, as in protobuf's JSON
_PLAIN = 1e21  # protobuf's JSON writes numbers from here on with an exponent
_OWN = {"net.IP": "IP", "net.CIDR": "CIDR", "kubernetes.NamedFormat": "Format"}  # names in cel-go's errors
_KEYS = {"bool": "type conversion error from bool", "double": "type conversion error from Double"}
_TEXT_AS = dict.fromkeys(_KEYS, "'string'")


class JsonValues:
    """Makes JSON of the values of one mutation; `exact` keeps large integers, which are strings otherwise."""

    __slots__ = ("_exact",)

    def __init__(self, *, exact: bool) -> None:
        self._exact = exact

    def of(self, value: Any) -> Any:
        """The JSON of a value. Raises EvaluationError for a value that has no JSON form."""
        if value is None or isinstance(value, str | bool):
            return value
        if isinstance(value, float):
            return int(value) if not self._exact and value.is_integer() and abs(value) < _PLAIN else value
        if isinstance(value, Unfit):
            return None  # its field is refused anyway
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
        if type(value) is TypeValue:
            raise EvaluationError("type conversion not supported for 'type'")
        name = type_name(value)
        own = _OWN.get(name, name.rpartition(".")[2])
        raise EvaluationError(f"type conversion error from '{own}' to '*structpb.Value'")

    def _key(self, name: Any) -> str:
        if not isinstance(name, str):
            words = _KEYS.get(type_name(name), "unsupported type conversion from '{}'").format(type_name(name))
            raise EvaluationError(f"{words} to {_TEXT_AS.get(type_name(name), 'string')}")
        return name
