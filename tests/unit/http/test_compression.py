"""Chunks are compressed into one gzip stream; the chunks of a frequently requested list only once."""

from __future__ import annotations

import gzip as standard
import random
import zlib
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.http import compression, packed_pieces
from gateway.http.compression import gzip
from gateway.http.packed_pieces import REMEMBERED, Pieces, deflated


@given(st.lists(st.binary(max_size=2000), max_size=5))
def test_any_chunks_come_back(chunks: list[bytes]) -> None:
    assert standard.decompress(b"".join(gzip(chunks))) == b"".join(chunks)


def test_a_reader_of_a_single_stream_reads_it_all() -> None:
    reader = zlib.decompressobj(zlib.MAX_WBITS | 16)
    assert reader.decompress(b"".join(gzip([b"a" * 99, b"b"]))) == b"a" * 99 + b"b"
    assert reader.eof and not reader.unused_data


@given(st.lists(st.binary(max_size=300), max_size=8))
def test_checksums_of_pieces_give_that_of_all(chunks: list[bytes]) -> None:
    pieces, checksum = Pieces(), 0
    for chunk in chunks:
        checksum = pieces.piece(chunk).after(checksum)
    assert checksum == zlib.crc32(b"".join(chunks))


@pytest.fixture
def packed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of what was packed."""
    sizes: list[int] = []
    monkeypatch.setattr(packed_pieces, "deflated", lambda chunk: sizes.append(len(chunk)) or deflated(chunk))
    pieces = Pieces(1 << 20)
    monkeypatch.setattr(compression, "_hot", lambda: pieces)
    return sizes


def test_chunks_that_come_again_are_packed_once(packed: list[int]) -> None:
    chunks = [b"head", bytes(REMEMBERED), b"x" * REMEMBERED]
    bodies = [standard.decompress(b"".join(gzip(chunks))) for _ in range(5)]
    assert bodies == [b"".join(chunks)] * 5
    assert packed.count(REMEMBERED) == 4  # each the first two times


def test_equal_chunks_are_packed_once_wherever_they_are(packed: list[int]) -> None:
    for number in range(5):
        chunks = [b"%d" % number, bytes(REMEMBERED), b"%d" % number * REMEMBERED]
        assert standard.decompress(b"".join(gzip(chunks))) == b"".join(chunks)
    assert packed.count(REMEMBERED) == 2 + 5


def test_what_is_known_is_not_looked_at(packed: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    chunks = [b"head", bytes(REMEMBERED)]
    assert compression._known(chunks) is None
    for _ in range(2):
        gzip(chunks)
    read: list[int] = []
    checksum = zlib.crc32
    monkeypatch.setattr(packed_pieces.zlib, "crc32", lambda chunk: read.append(len(chunk)) or checksum(chunk))
    found = compression._known(chunks)
    assert read == [len(b"head")]
    assert compression._known([b"head", bytes(bytearray(REMEMBERED))]) is None
    monkeypatch.undo()
    assert found is not None and standard.decompress(b"".join(found)) == b"".join(chunks)


def test_another_chunk_with_the_same_checksum_is_another(packed: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_pieces.zlib, "crc32", lambda _: 1)
    pieces = Pieces()
    for chunk in (bytes(REMEMBERED), b"x" * REMEMBERED) * 3:
        assert zlib.decompress(pieces.piece(chunk).packed + b"\3\0", -zlib.MAX_WBITS) == chunk


def test_what_is_remembered_is_bounded() -> None:
    pieces = Pieces(10 * REMEMBERED)
    for n in range(200):
        chunk = bytes([n]) * REMEMBERED
        assert [pieces.piece(chunk).packed for _ in range(3)] == [deflated(chunk)] * 3
    held = {id(piece): piece.size for piece in pieces._by_identity.values()}
    assert pieces._size == sum(held.values()) <= 12 * REMEMBERED
    assert len(pieces._by_checksum) == len(held)


def test_threads_pack_the_same_at_the_same_time() -> None:
    """What is counted is what is kept, and each gets what belongs to its bytes."""
    pieces = Pieces(20 * REMEMBERED)
    contents = [bytes([n]) * REMEMBERED for n in range(12)]

    def work(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(200):
            chunk = bytes(bytearray(chance.choice(contents)))
            piece = pieces.piece(chunk)
            assert piece.after(0) == zlib.crc32(chunk)
            assert zlib.decompress(piece.packed + b"\3\0", -zlib.MAX_WBITS) == chunk

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert pieces._size == sum(piece.size for piece in pieces._by_identity.values())
    assert set(map(id, pieces._by_identity.values())) == set(map(id, pieces._by_checksum.values()))
