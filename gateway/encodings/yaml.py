"""application/yaml: objects in block style with sorted keys. Watches do not offer it."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import cache
from typing import Any

from gateway.encodings.format import Format
from gateway.jsontypes import loads

_PLACES = 6  # digits before the point from which on a number has an exponent
_TEXT = "tag:yaml.org,2002:str"
_TAKEN_BY_GO = {  # texts that Go's YAML readers, but not PyYAML, take for another type; PyYAML quotes the others
    "bool": re.compile(r"[yYnN]$"),
    "float": re.compile(r"[-+]?(\.[0-9]+|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9]+)?$"),
    "int": re.compile(r"[-+]?0[oO][0-7_]+$"),
}


def to_yaml(body: bytes) -> bytes:
    """Renders JSON as YAML."""
    return _dump(loads(body))


@cache
def dumper() -> Any:
    """A PyYAML dumper class that quotes each text that Go's YAML readers would take for a number or a boolean."""
    import yaml  # imported here: most clients do not ask for YAML

    class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]  # one of the two
        def ignore_aliases(self, data: Any) -> bool:
            return True

    def text(self: Any, data: str) -> Any:
        """As goyaml: texts of several lines as literal blocks; texts that look like another type in double quotes."""
        style = "|" if "\n" in data else None
        if style is None and self.resolve(yaml.ScalarNode, data, (True, False)) != _TEXT:
            style = '"'
        return self.represent_scalar(_TEXT, data, style)

    def number(self: Any, data: float) -> Any:
        shown = go_float(data)
        kind = "float" if "." in shown or "e" in shown else "int"
        return self.represent_scalar(f"tag:yaml.org,2002:{kind}", shown)

    for tag, taken in _TAKEN_BY_GO.items():
        Dumper.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", taken, None)
    Dumper.add_representer(str, text)
    Dumper.add_representer(float, number)
    return Dumper


def go_float(value: float) -> str:
    """A finite number as Go's `%g` prints it: few digits; an exponent for small numbers, and from seven digits on."""
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    power = len(digits) + exponent - 1
    if -4 <= power < _PLACES or not any(digits):
        return repr(value).removesuffix(".0")
    shown = "".join(map(str, digits))
    rest = f".{shown[1:]}" if shown[1:] else ""
    return f"{'-' if sign else ''}{shown[0]}{rest}e{power:+03d}"


def _dump(value: Any) -> bytes:
    import yaml

    made = bytes(yaml.dump(value, Dumper=dumper(), allow_unicode=True, width=80, encoding="utf-8"))
    return made[:-4] if made.endswith(b"\n...\n") else made  # goyaml writes no document end marker


def _frame(empty: bytes, name: bytes) -> tuple[bytes, bytes]:
    before, _, after = to_yaml(empty).partition(b"\n%b: []\n" % name)
    return before + b"\n%b:\n" % name, after


FORMAT = Format(b"application/yaml", to_yaml, lambda item: _dump([item]), _frame, apart=True)
