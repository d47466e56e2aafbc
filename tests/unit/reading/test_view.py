"""What watches of one view share."""

from __future__ import annotations

import zlib

from gateway.reading.view import packed


def test_all_data_of_a_packed_chunk_comes_before_the_end_of_its_member() -> None:
    """Go's reader returns data that it reads together with the end of a member only once the next member begins."""
    chunk = b'{"type":"BOOKMARK"}\n'
    member = packed(chunk)
    flushed = member[: member.index(b"\x00\x00\xff\xff") + 4]
    reader = zlib.decompressobj(zlib.MAX_WBITS | 16)
    assert (reader.decompress(flushed), reader.eof) == (chunk, False)
    assert (reader.decompress(member[len(flushed) :]), reader.eof) == (b"", True)
