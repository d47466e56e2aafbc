"""Reads configuration files of one kind, in YAML or JSON.

They are decoded strictly, as kube-apiserver decodes the kinds of apiserver.config.k8s.io.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum, auto
from pathlib import Path
from typing import Any

from gateway.http.deadline import parse_duration
from gateway.jsontypes import JsonObject

GROUP = "apiserver.config.k8s.io"
_LARGEST = 4 << 20  # bytes


class InvalidConfiguration(ValueError):
    """The content of a file is invalid; the message is one line and names the field."""


class Leaf(Enum):
    """The type of a field that is neither an object nor a list."""

    TEXT = auto()
    BOOLEAN = auto()
    DURATION = auto()  # a text such as "30s" in the file; decoded to seconds
    INTEGER = auto()
    ANYTHING = auto()


# the type of a value: a mapping has the fields of an object by name, a list has the one shape of all items
Shape = Leaf | Mapping[str, Any] | Sequence[Any]


def read_configuration(path: Path, kind: str, versions: Sequence[str], shape: Mapping[str, Shape]) -> JsonObject:
    """The decoded configuration of a file, without kind and apiVersion. Raises OSError, InvalidConfiguration."""
    found = read_yaml(path)
    given, wanted = found.pop("apiVersion", None), [f"{GROUP}/{version}" for version in versions]
    if found.pop("kind", None) != kind or given not in wanted:
        raise InvalidConfiguration(f"it must be of kind {kind} and apiVersion {' or '.join(wanted)}")
    return checked(found, shape)


def read_yaml(path: Path) -> JsonObject:
    """The object in a YAML or JSON file. Raises OSError, InvalidConfiguration."""
    with path.open("rb") as file:
        data = file.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise InvalidConfiguration(f"it is larger than {_LARGEST} bytes")
    found = load_yaml(data)
    if not isinstance(found, dict):
        raise InvalidConfiguration("it is empty")
    return found


def checked(found: JsonObject, shape: Mapping[str, Shape]) -> JsonObject:
    """Decodes an object by its shape; fields that are null are left out. Raises InvalidConfiguration, also for fields
    that the shape does not have.
    """
    decoded: JsonObject = _checked(found, shape, "")
    return decoded


def load_yaml(data: bytes) -> Any:
    """The value of a text with one YAML document. Raises InvalidConfiguration, also for duplicate keys."""
    from gateway.schema.errors import YamlError
    from gateway.schema.outside import read_yaml

    try:
        data.decode()
        value, duplicates = read_yaml(data, alone=True)
    except UnicodeDecodeError as error:
        raise InvalidConfiguration(f"it is not UTF-8: byte {error.start} is wrong") from None
    except YamlError as error:
        raise InvalidConfiguration(f"it is not valid YAML: {str(error).removeprefix('yaml: ')}") from None
    if duplicates:
        raise InvalidConfiguration(duplicates[0].replace("already set in map", "is given twice"))
    return value


def _checked(value: Any, shape: Shape, path: str) -> Any:
    match shape:
        case Leaf():
            return _leaf(value, shape, path)
        case Mapping():
            if not isinstance(value, dict):
                raise InvalidConfiguration(f"{path or 'it'} must be an object")
            for name in value:
                if name not in shape:
                    raise InvalidConfiguration(f'unknown field "{path}{"." if path else ""}{name}"')
            below = {name: each for name, each in value.items() if each is not None}
            return {name: _checked(each, shape[name], f"{path}.{name}".lstrip(".")) for name, each in below.items()}
    if not isinstance(value, list):
        raise InvalidConfiguration(f"{path} must be a list")
    return [_checked(each, shape[0], f"{path}[{index}]") for index, each in enumerate(value)]


def _leaf(value: Any, leaf: Leaf, path: str) -> Any:
    match leaf:
        case Leaf.BOOLEAN if isinstance(value, bool):
            return value
        case Leaf.TEXT if isinstance(value, str):
            return value
        case Leaf.INTEGER if type(value) is int and abs(value) < 1 << 31:
            return value
        case Leaf.ANYTHING:
            return value
        case Leaf.DURATION if isinstance(value, str):
            try:
                return parse_duration(value)
            except ValueError:
                raise InvalidConfiguration(f"{path}: {value!r} is not a duration such as 30s") from None
    wanted = {
        Leaf.BOOLEAN: "true or false",
        Leaf.TEXT: "a text",
        Leaf.INTEGER: "a whole number",
        Leaf.DURATION: "a duration such as 30s",
    }
    raise InvalidConfiguration(f"{path} must be {wanted[leaf]}")
