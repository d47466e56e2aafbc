"""Chunks are packed to one gzip stream, and those of a hot list once."""

from __future__ import annotations

import gzip as standard
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.http import compression
from gateway.http.compression import REMEMBERED, gzip


@given(st.lists(st.binary(max_size=2000), max_size=5))
def test_any_chunks_come_back(chunks: list[bytes]) -> None:
    assert standard.decompress(b"".join(gzip(chunks))) == b"".join(chunks)


def test_a_reader_of_a_single_stream_reads_it_all() -> None:
    reader = zlib.decompressobj(zlib.MAX_WBITS | 16)
    assert reader.decompress(b"".join(gzip([b"a" * 99, b"b"]))) == b"a" * 99 + b"b"
    assert reader.eof and not reader.unused_data


def test_chunks_that_come_again_are_packed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    packed: list[int] = []
    deflated = compression._deflated
    monkeypatch.setattr(compression, "_deflated", lambda chunk: packed.append(len(chunk)) or deflated(chunk))
    monkeypatch.setattr(compression, "_hot", compression._Hot(1 << 20))
    chunks = [b"head", bytes(REMEMBERED), b"x" * REMEMBERED]
    bodies = [standard.decompress(b"".join(gzip(chunks))) for _ in range(5)]
    assert bodies == [b"".join(chunks)] * 5
    assert packed.count(REMEMBERED) == 4  # each the first two times


def test_what_is_remembered_is_bounded() -> None:
    hot = compression._Hot(10 * REMEMBERED)
    for n in range(200):
        chunk = bytes([n]) * REMEMBERED
        assert [hot.packed(chunk) for _ in range(3)] == [compression._deflated(chunk)] * 3
    assert hot._size <= 12 * REMEMBERED and len(hot._known) <= 12
