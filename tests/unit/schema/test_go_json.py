"""Strings of JSON as Go reads them, whatever their length."""

from __future__ import annotations

import sys
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from gateway.schema.go_json import parse

LONG = 20_000  # characters, of which each is escaped or invalid
PARTS = [
    *(b"a", b"\\n", b"\\/", b'\\"', b"\\\\", b"\\u0041", b"\\u00e9", b"\\ud83d", b"\\uDE00", b"\\ud83d\\ude00"),
    *(b"\xff", b"\xe2\x82", b"\xe2\x82\xac", b"\xed\xa0\x80", b"\xf0\x9f", b"\xc3\xa9", b"ud83d", b"\xef\xbf\xbd"),
]


def as_go_reads(parts: list[bytes]) -> str:
    """The text of a string, from its parts one by one."""
    out, last, high = "", "", 0
    for part in parts:
        if part[:2] == b"\\u":
            for unit in part.split(b"\\u")[1:]:
                code = int(unit, 16)
                if 0xDC00 <= code < 0xE000 and last == "high":
                    out, last = out[:-1] + chr(0x10000 + (high - 0xD800) * 0x400 + code - 0xDC00), ""
                elif 0xD800 <= code < 0xE000:
                    out, last, high = out + "\ufffd", "high" if code < 0xDC00 else "", code
                else:
                    out, last = out + chr(code), ""
        elif part[:1] == b"\\":
            out, last = out + {"n": "\n"}.get(chr(part[1]), chr(part[1])), ""
        else:
            out, last = out + part.decode("latin-1"), ""
    return out


def calls(work: Callable[[], Any]) -> int:
    """How many functions of Python are called."""
    found = 0

    def profile(_: Any, event: str, __: Any) -> None:
        nonlocal found
        found += event == "call"

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.parametrize("seed", range(300))
def test_escapes_are_read_as_go_reads_them(seed: int) -> None:
    chosen = [part for part in Random(seed).choices(PARTS, k=12) if part.isascii()]
    assert parse(b'"' + b"".join(chosen) + b'"') == as_go_reads(chosen)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"a\xff", "a\ufffd"),
        (b"\xe2\x82", "\ufffd\ufffd"),  # one mark a byte, unlike Python's "replace"
        (b"\xe2\x82\xac\xe2\x82\xe2\x82\xac", "\u20ac\ufffd\ufffd\u20ac"),
        (b"\xed\xa0\x80", "\ufffd\ufffd\ufffd"),
        (b"\xf0\x9f\x98", "\ufffd\ufffd\ufffd"),
        (b"\xef\xbf\xbd\xff", "\ufffd\ufffd"),
        (b"\xe2\x82\\ud800\\ude00\\ud800", "\ufffd\ufffd\U00010200\ufffd"),
    ],
)
def test_each_byte_that_is_no_utf_8_is_marked(raw: bytes, expected: str) -> None:
    assert parse(b'"' + raw + b'"') == expected


@pytest.mark.parametrize("part", PARTS)
def test_no_function_is_called_for_each_character(part: bytes) -> None:
    text = b'"\\ud800' + part * LONG + b'"'
    assert calls(lambda: parse(text)) < LONG / 100
