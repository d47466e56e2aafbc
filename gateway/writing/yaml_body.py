"""YAML bodies as the JSON that kube-apiserver makes of them.

Plain scalars follow goyaml's rules (YAML 1.1 with Go's numbers): `yes` is true, `017` is fifteen, `1:30` and dates are
strings. Numbers without a fraction become integers.
"""

from __future__ import annotations

import base64
import math
import re
import struct
from decimal import Decimal
from typing import Any

import yaml

from gateway.schema.decode import parse_body

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PLAIN = "!plain"
_TAG = "tag:yaml.org,2002:"
_MAX_NODES = 1_000_000  # constructed ones: an alias counts each time that it is used

_WORDS: dict[str, Any] = {"": None, "~": None, "null": None, "Null": None, "NULL": None}
_WORDS |= {word: True for base in ("y", "yes", "true", "on") for word in (base, base.capitalize(), base.upper())}
_WORDS |= {word: False for base in ("n", "no", "false", "off") for word in (base, base.capitalize(), base.upper())}
_WORDS |= dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan)
_WORDS |= {sign + word: math.inf for sign in ("", "+") for word in (".inf", ".Inf", ".INF")}
_WORDS |= dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf)
_INTEGER = re.compile(r"[-+]?(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+|0[0-7]*|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")


class YamlError(ValueError):
    """A body that is no YAML, in goyaml's words."""


class _Loader(_LOADER):  # type: ignore[misc]  # chosen at run time: the C parser where PyYAML has it
    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> Any:
        """Marks plain scalars, so that they can be told from tagged and quoted ones."""
        if kind is yaml.ScalarNode and implicit[0]:
            return _PLAIN
        return super().resolve(kind, value, implicit)


def _as_json(data: bytes) -> tuple[bool, Any]:
    """Whether a body is JSON that means the same as YAML, many times faster to read, and its value.

    Duplicate keys are told by their lines, and floats may become integers: those go the way of YAML.
    """
    try:
        value, duplicates = parse_body(data)
    except ValueError:
        return False, None
    if not isinstance(value, dict) or duplicates or _has_floats(value):
        return False, None
    return True, dict(value)


def _has_floats(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_has_floats(item) for item in value.values())
    if isinstance(value, list):
        return any(_has_floats(item) for item in value)
    return isinstance(value, float)


def parse_yaml(data: bytes) -> tuple[Any, list[str]]:
    """The first document of a YAML stream as JSON, and its duplicate keys ('line 5: key "a" already set in map').

    Raises YamlError.
    """
    if data.startswith(b"{") and b"\\u" not in data:
        read, value = _as_json(data)
        if read:
            return value, []
    loader = _Loader(data)
    try:
        if not loader.check_node():
            return None, []
        node = loader.get_node()
    except yaml.reader.ReaderError:
        raise YamlError("yaml: control characters are not allowed") from None
    except yaml.MarkedYAMLError as error:
        raise YamlError(_message(error, data)) from error
    except yaml.YAMLError as error:
        raise YamlError(f"yaml: {error}") from error
    finally:
        loader.dispose()
    builder = _Builder()
    try:
        return builder.build(node), builder.duplicates
    except RecursionError:
        raise YamlError("yaml: document is nested too deeply") from None


def _message(error: yaml.MarkedYAMLError, data: bytes) -> str:
    mark = error.problem_mark or error.context_mark
    if mark is not None and str(error.problem).startswith("found undefined alias"):
        name = re.match(r"\*([\w-]*)", data.decode("utf-8", "replace")[mark.index :], re.ASCII)
        return f"yaml: unknown anchor '{name[1] if name else ''}' referenced"
    line = 0 if mark is None else mark.line
    if line and isinstance(error, yaml.scanner.ScannerError):
        line += 1
    where = f"line {line}: " if line else ""
    return f"yaml: {where}{error.problem or error.context or 'unknown problem parsing YAML content'}"


class _Builder:
    """Makes JSON of nodes."""

    def __init__(self) -> None:
        self.duplicates: list[str] = []
        self._nodes = 0

    def build(self, node: yaml.Node) -> Any:
        self._nodes += 1
        if self._nodes > _MAX_NODES:
            raise YamlError("yaml: document contains excessive aliasing")
        if isinstance(node, yaml.ScalarNode):
            return _json_number(_scalar(node))
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item) for item in node.value]
        assert isinstance(node, yaml.MappingNode)
        return self._mapping(node)

    def _mapping(self, node: yaml.MappingNode) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if isinstance(key_node, yaml.ScalarNode) and key_node.value == "<<" and key_node.tag == _PLAIN:
                self._merge(result, value_node)
                continue
            if not isinstance(key_node, yaml.ScalarNode):
                raise YamlError("yaml: invalid map key")
            raw = _scalar(key_node)
            key = _key(raw, value_node)
            if key in result:
                shown = f'"{key}"' if isinstance(raw, str) else key
                self.duplicates.append(f"line {value_node.start_mark.line + 1}: key {shown} already set in map")
            result[key] = self.build(value_node)
        return dict(sorted(result.items()))

    def _merge(self, result: dict[str, Any], node: yaml.Node) -> None:
        sources = reversed(node.value) if isinstance(node, yaml.SequenceNode) else [node]
        for source in sources:
            if not isinstance(source, yaml.MappingNode):
                raise YamlError("yaml: map merge requires map or sequence of maps as the value")
            result.update(self._mapping(source))


def _scalar(node: yaml.ScalarNode) -> Any:
    tag, text = node.tag, node.value
    if tag == _PLAIN:
        return _plain(text)
    match tag.removeprefix(_TAG):
        case "int" | "float" | "bool" | "null" as wanted:
            value = _plain(text)
            found = _GO_TAGS[type(value)]
            if found != wanted and (found, wanted) != ("int", "float"):
                raise YamlError(f"yaml: cannot decode !!{found} `{text}` as a !!{wanted}")
            return value
        case "binary":
            try:
                return base64.b64decode("".join(text.split()), validate=True).decode("utf-8", "replace")
            except ValueError:
                raise YamlError("yaml: !!binary value contains invalid base64 data") from None
        case _:
            return text


def _plain(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    first = text[0]
    if not (first.isdigit() or first in "+-."):
        return text
    digits = text.replace("_", "")
    if _INTEGER.fullmatch(digits):
        value = _integer(digits)
        if -(2**63) <= value < 2**64:
            return value
        digits = str(value) if _FLOAT.fullmatch(digits) else digits
    if _FLOAT.fullmatch(digits):
        number = float(digits)
        return text if math.isinf(number) else number
    return text


def _integer(digits: str) -> int:
    sign = -1 if digits[0] == "-" else 1
    body = digits.lstrip("+-")
    if len(body) > 1 and body[0] == "0" and body[1].isdigit():
        return sign * int(body, 8)
    return sign * int(body, 0)


_GO_TAGS: dict[type, str] = {str: "str", bool: "bool", int: "int", float: "float", type(None): "null"}


def _key(value: Any, of: yaml.Node) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int() if value < 2**63:
            return str(value)
        case float():
            return _short_float(value)
    shown = of.value if isinstance(of, yaml.ScalarNode) else "..."
    kind = "%!s(<nil>), key: <nil>" if value is None else f"uint64, key: {value:#x}"
    raise YamlError(f"unsupported map key of type: {kind}, value: {shown}")


def _short_float(value: float) -> str:
    """A key that is a float, as Go writes it with 32 bits."""
    try:
        narrow = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return ".inf" if value > 0 else "-.inf"
    if not math.isfinite(narrow):
        return ".nan" if math.isnan(narrow) else ".inf" if narrow > 0 else "-.inf"
    texts = (f"{narrow:.{digits}e}" for digits in range(9))
    shortest = next(text for text in texts if struct.unpack("f", struct.pack("f", float(text)))[0] == narrow)
    exponent = int(shortest.partition("e")[2])
    return format(Decimal(shortest), "f") if -4 <= exponent < 21 else shortest


def _json_number(value: Any) -> Any:
    """Go writes a whole float without a fraction, in its shortest digits."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise YamlError(
                f"json: unsupported value: {'NaN' if math.isnan(value) else '+Inf' if value > 0 else '-Inf'}"
            )
        if value.is_integer() and abs(value) < 1e21:
            return int(Decimal(repr(value)))
    return value
