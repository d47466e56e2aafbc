"""The JSON values that the gateway passes around, and how they are read and written.

Objects travel as plain dicts in the served version's JSON form. `loads` and `dumps` are the only JSON
functions on request paths; both work on bytes.
"""

from typing import Any

import orjson

JsonObject = dict[str, Any]

loads = orjson.loads


def dumps(value: Any) -> bytes:
    """Encodes a JSON value compactly, as UTF-8 bytes."""
    return orjson.dumps(value)


def dump_line(value: Any) -> bytes:
    """Encodes a JSON value as an answer's body: compactly, with a newline at the end as kube-apiserver has it."""
    return orjson.dumps(value) + b"\n"
