"""Readers of YAML, and of JSON that is not a request body: responses of webhooks, issuers, kubelets and extension
servers, and claims of tokens.

Values have valid Unicode, as Go reads it. Their depth is bounded, so that recursive functions can walk them.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import orjson

from gateway.jsontypes import MAX_DEPTH, JsonObject, depth, members, read_at_once
from gateway.schema.body import SLOWLY, not_a_float, plain, too_large
from gateway.schema.errors import DecodeError
from gateway.time_limits import leave_loop, on_loop

_YAML = "gateway.schema.yaml_body"
LARGEST = 16 << 20  # bytes; for callers that give no bound
MOST_MEMBERS = 900_000
"""The most members, as gateway.jsontypes.members counts them, in JSON: each takes a thread a microsecond to read."""
_LONGEST_NUMBER = 100  # characters of a number that an error shows
# Half a surrogate pair, or a number beyond float64. If UTF-8 has neither, and orjson refuses it, Go refuses it, too.
_READ_SLOWLY = re.compile(rb"\\u[dD][89a-fA-F]|[eE]\+?[0-9]{3}|(?<![0-9])[0-9]{200}")

T = TypeVar("T")
Bytes = TypeVar("Bytes", bytes, bytearray)


def read_json(data: bytes | bytearray, largest: int = LARGEST) -> Any:
    """Parses JSON. Raises DecodeError for invalid JSON, more than `largest` bytes, and more than MAX_DEPTH levels or
    MOST_MEMBERS.

    A number that no float64 can hold is refused, in encoding/json's words. Half a surrogate pair becomes U+FFFD. Both
    need the exact parser, and so does JSON of more members than one call of the fast parser may read. On an event loop
    it reads at most SLOWLY bytes. Longer JSON raises TakesLong within `at_once`, and is refused elsewhere. It is never
    refused for its members if it has at most as many bytes as the annotations of an object.
    """
    if len(data) > largest:
        raise DecodeError(f"it is larger than {largest} bytes")
    check_members(data)
    if not read_at_once(data):
        leave_loop()
        if on_loop():
            raise DecodeError("it has too many members to be read here")
        value = _read_slowly(data)
    else:
        try:
            value = orjson.loads(data)
        except ValueError as error:
            if len(data) > SLOWLY and not _may_be_read_here(data):
                raise DecodeError(f"it is not JSON in valid Unicode: {error}") from None
            value = _read_slowly(data)
    return _checked_for_depth(value, data)


def read_trusted(data: bytes | bytearray) -> Any:
    """As `read_json`, for JSON that an API server has written, and that its user or etcd has brought here.

    It has as many bytes and members as it needs. Raises DecodeError for invalid JSON, and more than MAX_DEPTH levels.
    """
    try:
        value = orjson.loads(data)
    except ValueError as error:
        if len(data) > SLOWLY and not _may_be_read_slowly(data):
            raise DecodeError(f"it is not JSON in valid Unicode: {error}") from None
        value = _read_slowly(data)
    return _checked_for_depth(value, data)


def _checked_for_depth(value: Any, data: bytes | bytearray) -> Any:
    if data.count(b"[") + data.count(b"{") > MAX_DEPTH and not _is_flat(value) and depth(value) > MAX_DEPTH:
        raise DecodeError(f"exceeded max depth of {MAX_DEPTH}")
    return value


def _read_slowly(data: bytes | bytearray) -> Any:
    from gateway.schema.go_json import parse

    exact = parse(bytes(data))
    if number := too_large(exact):
        raise not_a_float(number if len(number) <= _LONGEST_NUMBER else f"{number[:_LONGEST_NUMBER]}...") from None
    return plain(exact, spend=True)


def _may_be_read_here(data: bytes | bytearray) -> bool:
    """Whether Go might accept long JSON that orjson refuses, and this thread may take the time to read it: it runs no
    event loop. Raises TakesLong on an event loop within `at_once`.
    """
    if not _may_be_read_slowly(data):
        return False
    leave_loop()
    return not on_loop()


def _may_be_read_slowly(data: bytes | bytearray) -> bool:
    """Whether Go might accept JSON that orjson refuses."""
    if _READ_SLOWLY.search(data) is not None:
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return True
    return False


def _is_flat(value: Any) -> bool:
    """Whether orjson can write the value, so that it has at most 254 levels. A walk would take twenty times as long."""
    try:
        orjson.dumps(value)
    except orjson.JSONEncodeError:
        return False
    return True


def check_members(data: bytes | bytearray) -> None:
    """Raises DecodeError for JSON of more than MOST_MEMBERS members."""
    if len(data) > MOST_MEMBERS and members(data) > MOST_MEMBERS:
        raise DecodeError(f"it has more than {MOST_MEMBERS} members")


async def parsed_soon(parse: Callable[[Bytes], T], data: Bytes) -> T:
    """What `parse` makes of an answer: in a thread if it has more than SLOWLY bytes."""
    return parse(data) if len(data) <= SLOWLY else await asyncio.to_thread(parse, data)


async def read_object_soon(data: bytes | bytearray, largest: int = LARGEST) -> JsonObject | None:
    """As `read_object`, but reads more than SLOWLY bytes in a thread."""
    return read_object(data, largest) if len(data) <= SLOWLY else await asyncio.to_thread(read_object, data, largest)


def read_object(data: bytes | bytearray, largest: int = LARGEST) -> JsonObject | None:
    """The object that JSON holds; None for another value, or JSON that `read_json` refuses. Raises nothing."""
    try:
        found = read_json(data, largest)
    except DecodeError:
        return None
    return found if isinstance(found, dict) else None


def read_yaml(data: bytes, *, alone: bool = False, sort: bool = False) -> tuple[Any, list[str]]:
    """As `parse_yaml` of gateway/schema/yaml_body.py, which is imported on the first call. Raises YamlError.

    The first call raises TakesLong on an event loop: the import takes as long as a hundred requests.
    """
    if _YAML not in sys.modules:
        leave_loop()
    from gateway.schema.yaml_body import parse_yaml

    return parse_yaml(data, alone=alone, sort=sort)
