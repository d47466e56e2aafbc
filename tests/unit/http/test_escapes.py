"""Percent-encoding, against the standard library's."""

from __future__ import annotations

from urllib.parse import unquote

from hypothesis import given
from hypothesis import strategies as st

from gateway.http.escapes import unescaped, valid_escapes

PIECES = st.sampled_from([b"%41", b"%2F", b"%c3%a9", b"%C3", b"%00", b"%5c", b"\\x41", b"\\", b"a", b"/", b"+", b"?n"])


@given(st.lists(PIECES).map(b"".join))
def test_valid_escapes_are_decoded_as_the_standard_library_does(raw: bytes) -> None:
    assert valid_escapes(raw)
    assert unescaped(raw) == unquote(raw.decode("ascii"))


@given(st.binary())
def test_only_two_hexadecimal_digits_are_an_escape(raw: bytes) -> None:
    digits = set(b"0123456789abcdefABCDEF")
    parts = raw.split(b"%")[1:]
    assert valid_escapes(raw) == all(len(part) >= 2 and set(part[:2]) <= digits for part in parts)


def test_bytes_that_are_not_ascii_are_utf_8() -> None:
    assert unescaped("é".encode()) == "é"
    assert unescaped(b"\xff%ff") == "\ufffd\ufffd"
