"""application/yaml: objects in block style with sorted keys. Watches are not streamed in it."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from gateway.encodings.format import Format
from gateway.jsontypes import loads

_TEXT = "tag:yaml.org,2002:str"
_TAKEN_BY_GO = {  # and not by PyYAML, which quotes the rest
    "bool": re.compile(r"[yYnN]$"),
    "float": re.compile(r"[-+]?(\.[0-9]+|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9]+)?$"),
    "int": re.compile(r"[-+]?0[oO][0-7_]+$"),
}


def to_yaml(body: bytes) -> bytes:
    """Renders JSON as YAML."""
    return _dump(loads(body))


@cache
def dumper() -> Any:
    """A class of PyYAML's that quotes every text which Go's readers would take for a number or a boolean."""
    import yaml  # only clients that ask for YAML pay for it

    class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]  # one of the two
        def ignore_aliases(self, data: Any) -> bool:
            return True

    def text(self: Any, data: str) -> Any:
        """As goyaml: several lines as they are, and what would be read as no text in double quotes."""
        style = "|" if "\n" in data else None
        if style is None and self.resolve(yaml.ScalarNode, data, (True, False)) != _TEXT:
            style = '"'
        return self.represent_scalar(_TEXT, data, style)

    for tag, taken in _TAKEN_BY_GO.items():
        Dumper.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", taken, None)
    Dumper.add_representer(str, text)
    return Dumper


def _dump(value: Any) -> bytes:
    import yaml

    made = bytes(yaml.dump(value, Dumper=dumper(), allow_unicode=True, width=80, encoding="utf-8"))
    return made[:-4] if made.endswith(b"\n...\n") else made  # goyaml never says that a document has ended


def _frame(empty: bytes, name: bytes) -> tuple[bytes, bytes]:
    before, _, after = to_yaml(empty).partition(b"\n%b: []\n" % name)
    return before + b"\n%b:\n" % name, after


FORMAT = Format(b"application/yaml", to_yaml, lambda item: _dump([item]), _frame, apart=True)
