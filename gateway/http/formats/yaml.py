"""application/yaml: objects in block style with sorted keys. Watches are not streamed in it."""

from __future__ import annotations

from gateway.http.formats.format import Format
from gateway.jsontypes import loads


def to_yaml(body: bytes) -> bytes:
    """Renders JSON as YAML."""
    import yaml  # only clients that ask for YAML pay for it

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text = yaml.dump(loads(body), Dumper=dumper, allow_unicode=True, width=1 << 30, encoding="utf-8")
    return bytes(text)


FORMAT = Format("application/yaml", encode=to_yaml, encode_pretty=to_yaml)
