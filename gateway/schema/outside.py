"""What others have written: the readers of YAML, and of JSON that is no request's body, such as answers of webhooks,
issuers, kubelets and extension servers, and claims of tokens.

What comes out has valid Unicode, as Go reads it, and is nested no deeper than what walks it may recurse.
"""

from __future__ import annotations

import asyncio
import re
import sys
from typing import Any

import orjson

from gateway.jsontypes import MAX_DEPTH, JsonObject, depth
from gateway.schema.body import SLOWLY, not_a_float, plain, too_large
from gateway.schema.errors import DecodeError
from gateway.time_limits import leave_loop, on_loop

_YAML = "gateway.schema.yaml_body"
LARGEST = 16 << 20  # bytes, where callers have taken no less
_LONGEST_NUMBER = 100  # characters of one that is shown
# halves of surrogate pairs, and numbers beyond float64: without one, and in UTF-8, what orjson refuses is no JSON
_READ_SLOWLY = re.compile(rb"\\u[dD][89a-fA-F]|[eE]\+?[0-9]{3}|(?<![0-9])[0-9]{200}")


def read_json(data: bytes | bytearray, largest: int = LARGEST) -> Any:
    """The value that JSON holds. Raises DecodeError: for more than `largest` bytes, for what is no JSON or too deep.

    A number that no float64 can hold is refused, in encoding/json's words. Half a surrogate pair becomes U+FFFD. That
    is read slowly: on an event loop, of little alone. What is large and no JSON is not read a second time.
    """
    if len(data) > largest:
        raise DecodeError(f"it is larger than {largest} bytes")
    try:
        value = orjson.loads(data)
    except ValueError as error:
        if len(data) > SLOWLY and (on_loop() or not _may_be_read_slowly(data)):
            raise DecodeError(f"it is no JSON in valid Unicode: {error}") from None
        from gateway.schema.go_json import parse

        exact = parse(bytes(data))
        if number := too_large(exact):
            raise not_a_float(number if len(number) <= _LONGEST_NUMBER else f"{number[:_LONGEST_NUMBER]}...") from None
        value = plain(exact)
    if data.count(b"[") + data.count(b"{") > MAX_DEPTH and not _is_flat(value) and depth(value) > MAX_DEPTH:
        raise DecodeError(f"exceeded max depth of {MAX_DEPTH}")
    return value


def _may_be_read_slowly(data: bytes | bytearray) -> bool:
    """Whether Go might read what orjson refuses."""
    if _READ_SLOWLY.search(data) is not None:
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return True
    return False


def _is_flat(value: Any) -> bool:
    """Whether orjson writes it, which it does for no more than 254 levels: a twentieth of the work of a walk."""
    try:
        orjson.dumps(value)
    except orjson.JSONEncodeError:
        return False
    return True


async def read_json_soon(data: bytes | bytearray, largest: int = LARGEST) -> Any:
    """As `read_json`, without holding the event loop."""
    return read_json(data, largest) if len(data) <= SLOWLY else await asyncio.to_thread(read_json, data, largest)


def read_object(data: bytes | bytearray, largest: int = LARGEST) -> JsonObject | None:
    """The object that JSON holds; None for anything else. Raises nothing."""
    try:
        found = read_json(data, largest)
    except DecodeError:
        return None
    return found if isinstance(found, dict) else None


def read_yaml(data: bytes, *, alone: bool = False) -> tuple[Any, list[str]]:
    """What `parse_yaml` of gateway/schema/yaml_body.py makes of it. Raises YamlError.

    Raises TakesLong on an event loop the first time: to import what reads YAML takes as long as a hundred requests.
    """
    if _YAML not in sys.modules:
        leave_loop()
    from gateway.schema.yaml_body import parse_yaml

    return parse_yaml(data, alone=alone)
