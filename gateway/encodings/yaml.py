"""application/yaml: objects in block style with sorted keys. Watches are not streamed in it."""

from __future__ import annotations

from typing import Any

from gateway.encodings.format import Format
from gateway.jsontypes import loads


def to_yaml(body: bytes) -> bytes:
    """Renders JSON as YAML."""
    return _dump(loads(body))


def _dump(value: Any) -> bytes:
    import yaml  # only clients that ask for YAML pay for it

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return bytes(yaml.dump(value, Dumper=dumper, allow_unicode=True, width=80, encoding="utf-8"))


def _frame(empty: bytes, name: bytes) -> tuple[bytes, bytes]:
    before, _, after = to_yaml(empty).partition(b"\n%b: []\n" % name)
    return before + b"\n%b:\n" % name, after


FORMAT = Format(b"application/yaml", to_yaml, lambda item: _dump([item]), _frame, apart=True)
