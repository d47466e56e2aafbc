"""The file of a backup: it is read as it was written, and a truncated or changed file is refused."""

from __future__ import annotations

import hashlib
import io
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.backups import file as files
from storage.backups.file import BackupKey, Header, InvalidBackup, Lease, Writer, read, verify

HEADER = Header("/registry", 7, "1f", "3.6.0", "2026-01-02T03:04:05Z")
CONTENT = st.dictionaries(st.binary(min_size=1, max_size=20), st.tuples(st.binary(max_size=300), st.integers(0, 3)))


def written(keys: dict[bytes, tuple[bytes, int]], header: Header = HEADER) -> tuple[bytes, list[Lease | BackupKey]]:
    records: list[Lease | BackupKey] = [Lease(number, number * 10) for number in (1, 2, 3)]
    records += [BackupKey(key, value, lease) for key, (value, lease) in sorted(keys.items())]
    return packed(records, header), records


def packed(records: list[Lease | BackupKey], header: Header = HEADER) -> bytes:
    writer = Writer(buffer := io.BytesIO(), header)
    for record in records:
        if isinstance(record, Lease):
            writer.lease(record)
        else:
            writer.key(record)
    writer.end()
    return buffer.getvalue()


@pytest.fixture(scope="session")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("backup") / "file"


@given(keys=CONTENT)
def test_what_was_written_is_read(path: Path, keys: dict[bytes, tuple[bytes, int]]) -> None:
    data, records = written(keys)
    path.write_bytes(data)
    info = verify(path)
    assert (info.header, info.keys) == (HEADER, len(keys))
    assert info.leased == sum(bool(lease) for _, lease in keys.values())
    assert list(read(path)) == records


@given(keys=CONTENT, cut=st.integers(0), position=st.integers(0), bit=st.integers(0, 7))
def test_no_part_of_a_file_and_no_other_file_is_taken(
    path: Path, keys: dict[bytes, tuple[bytes, int]], cut: int, position: int, bit: int
) -> None:
    data, _ = written(keys)
    changed = bytearray(data)
    changed[position % len(data)] ^= 1 << bit
    for wrong in (data[: cut % len(data)], bytes(changed), data + b"\0"):
        path.write_bytes(wrong)
        with pytest.raises(InvalidBackup):
            verify(path)


def resealed(plain: bytes) -> bytes:
    """A backup file with arbitrary frames and a correct digest."""
    compressor = zlib.compressobj(6, zlib.DEFLATED, 31)
    data = files.MAGIC + compressor.compress(plain) + compressor.flush()
    return data + hashlib.sha256(data).digest()


@given(plain=st.binary(max_size=200))
def test_frames_of_anybody_are_read_or_refused(path: Path, plain: bytes) -> None:
    path.write_bytes(resealed(plain))
    with pytest.raises(InvalidBackup):
        verify(path)


@pytest.mark.parametrize(
    ("records", "said"),
    [
        ([BackupKey(b"b", b"", 0), BackupKey(b"a", b"", 0)], "out of order"),
        ([BackupKey(b"a", b"", 0), BackupKey(b"a", b"", 0)], "out of order"),
        ([BackupKey(b"a", b"", 1)], "no lease 1"),
        ([Lease(1, 5), Lease(1, 5)], "more than once"),
    ],
)
def test_what_a_whole_file_may_not_have(path: Path, records: list[Lease | BackupKey], said: str) -> None:
    path.write_bytes(packed(records))
    with pytest.raises(InvalidBackup, match=said):
        verify(path)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "not a backup"),
        (b"apiserver-gateway backup 2\nx", "another version"),
        (files.MAGIC, "its end is missing"),
        (resealed(b""), "header cannot be read"),
    ],
)
def test_what_is_wrong_is_said(path: Path, data: bytes, said: str) -> None:
    path.write_bytes(data)
    with pytest.raises(InvalidBackup, match=said):
        verify(path)


def test_a_small_file_does_not_become_a_large_record(path: Path) -> None:
    path.write_bytes(resealed(b"K" + (files.LARGEST_FRAME + 1).to_bytes(4, "big")))
    with pytest.raises(InvalidBackup):
        verify(path)
