"""application/json: what verbs answer, as it is or indented."""

from __future__ import annotations

import orjson

from gateway.http.formats.format import Format
from gateway.jsontypes import loads


def indent(body: bytes) -> bytes:
    """The same JSON for people: indented by two spaces, without a newline at its end."""
    return orjson.dumps(loads(body), option=orjson.OPT_INDENT_2)


FORMAT = Format("application/json", encode_pretty=indent, stream_type=b"application/json")
