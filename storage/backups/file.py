"""The format of a backup file.

    line      "apiserver-gateway backup 1\\n"
    frames    as one gzip stream; each is a letter, the length of the content (4 bytes, big-endian), the content:
              H  the header, always first; a JSON object: prefix, revision, cluster, etcd, made,
                 control_plane
              L  a lease: its number in the file (4 bytes), and the seconds it had left (8 bytes)
              K  a key: its lease's number or 0 (4 bytes), the key's length (4 bytes), the key without the prefix, the
                 value; keys ascend, and a lease comes before its first key
              E  the end, always last: the number of keys (8 bytes)
    digest    SHA-256 of all bytes before it (32 bytes)

A reader checks the whole file before it uses any of it.
"""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

MAGIC: Final = b"apiserver-gateway backup 1\n"
DIGEST: Final = 32
LARGEST_FRAME: Final = 64 << 20
_CHUNK: Final = 1 << 16
_HEAD: Final = struct.Struct(">cI")
_LEASE: Final = struct.Struct(">IQ")
_KEY: Final = struct.Struct(">II")
_COUNT: Final = struct.Struct(">Q")
_GZIP: Final = 31  # zlib's number for its format

Told = Callable[[int, int], None]  # bytes or keys done, and their total


class InvalidBackup(Exception):
    """The file is not a backup, or the backup is incomplete or damaged; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class Header:
    """The origin of a backup: prefix without the slash at its end, and etcd's revision, cluster ID (hex), version."""

    prefix: str
    revision: int
    cluster: str
    etcd: str
    made: str  # RFC 3339
    control_plane: str = ""  # the name of the control plane below /clusters that the backup is of


class Lease(NamedTuple):
    """A lease of keys in the file: its number in the file, and the seconds that it had left."""

    number: int
    ttl: int


class BackupKey(NamedTuple):
    """A key without the prefix; `lease` is the number of its lease, 0 for none."""

    key: bytes
    value: bytes
    lease: int


@dataclass(frozen=True, slots=True)
class BackupInfo:
    """The content of a verified file."""

    header: Header
    keys: int
    leased: int  # keys among them that have a lease
    bytes: int  # total size of keys and values


class Writer:
    """Writes a backup to an open file. The backup is complete only after `end`."""

    def __init__(self, file: BinaryIO, header: Header) -> None:
        self._file, self._digest, self._keys = file, hashlib.sha256(), 0
        self._compressor = zlib.compressobj(6, zlib.DEFLATED, _GZIP)
        self._write(MAGIC)
        self._frame(b"H", json.dumps(asdict(header)).encode())

    def lease(self, lease: Lease) -> None:
        self._frame(b"L", _LEASE.pack(*lease))

    def key(self, key: BackupKey) -> None:
        self._keys += 1
        self._frame(b"K", _KEY.pack(key.lease, len(key.key)) + key.key + key.value)

    def end(self) -> None:
        self._frame(b"E", _COUNT.pack(self._keys))
        self._write(self._compressor.flush())
        self._file.write(self._digest.digest())

    def _frame(self, kind: bytes, content: bytes) -> None:
        self._write(self._compressor.compress(_HEAD.pack(kind, len(content)) + content))

    def _write(self, data: bytes) -> None:
        self._digest.update(data)
        self._file.write(data)


def verify(path: Path, told: Told = lambda done, of: None) -> BackupInfo:
    """Reads and checks a whole file. Raises InvalidBackup, OSError."""
    keys = leased = size = 0
    with path.open("rb") as file:
        length = _checked_length(file)
        _check_digest(file, length, lambda done: told(done, 2 * length))
        frames = _frames(file, length, lambda done: told(length + done, 2 * length))
        header = _header(next(frames, None))
        leases: set[int] = set()
        last = b""
        for record in _records(frames):
            if isinstance(record, Lease):
                if record.number in leases or not record.number:
                    raise InvalidBackup(f"lease {record.number} is there more than once")
                leases.add(record.number)
                continue
            if keys and record.key <= last:
                raise InvalidBackup(f"its keys are out of order at {record.key!r}")
            if record.lease and record.lease not in leases:
                raise InvalidBackup(f"it has no lease {record.lease}, which {record.key!r} has")
            last, keys, leased = record.key, keys + 1, leased + bool(record.lease)
            size += len(record.key) + len(record.value)
    return BackupInfo(header, keys, leased, size)


def read(path: Path) -> Iterator[Lease | BackupKey]:
    """Yields the leases and keys of a verified file, in order. Raises InvalidBackup, OSError."""
    with path.open("rb") as file:
        frames = _frames(file, _checked_length(file), lambda done: None)
        _header(next(frames, None))
        yield from _records(frames)


def _checked_length(file: BinaryIO) -> int:
    """The number of bytes between the first line and the digest. The file position is then after that line."""
    if file.read(len(MAGIC)) != MAGIC:
        file.seek(0)
        kind = "a backup of another version" if file.read(24) == MAGIC[:24] else "not a backup"
        raise InvalidBackup(f"it is {kind} of apiserver-gateway")
    length = file.seek(0, 2) - len(MAGIC) - DIGEST
    if length < 0:
        raise InvalidBackup("it is incomplete: its end is missing")
    file.seek(len(MAGIC))
    return length


def _check_digest(file: BinaryIO, length: int, told: Callable[[int], None]) -> None:
    digest, left = hashlib.sha256(MAGIC), length
    while left:
        chunk = file.read(min(_CHUNK, left))
        if not chunk:
            raise InvalidBackup("it changed while it was read")
        digest.update(chunk)
        left -= len(chunk)
        told(length - left)
    if file.read(DIGEST) != digest.digest():
        raise InvalidBackup("it is damaged or was changed: its digest is wrong")
    file.seek(len(MAGIC))


def _frames(file: BinaryIO, length: int, told: Callable[[int], None]) -> Iterator[tuple[bytes, bytes]]:
    buffer = bytearray()
    for plain in _plain(file, length, told):
        buffer += plain
        start = 0
        while len(buffer) - start >= _HEAD.size:
            kind, size = _HEAD.unpack_from(buffer, start)
            if size > LARGEST_FRAME:
                raise InvalidBackup(f"it has a record of {size} bytes")
            end = start + _HEAD.size + size
            if len(buffer) < end:
                break
            yield kind, bytes(buffer[start + _HEAD.size : end])
            start = end
        del buffer[:start]
    if buffer:
        raise InvalidBackup("its last record is cut off")


def _plain(file: BinaryIO, length: int, told: Callable[[int], None]) -> Iterator[bytes]:
    decompressor, left = zlib.decompressobj(_GZIP), length
    try:
        while left:
            chunk = file.read(min(_CHUNK, left))
            left -= len(chunk)
            if not chunk or decompressor.eof:
                raise InvalidBackup("its compressed part has another length than the file says")
            while chunk:
                yield decompressor.decompress(chunk, 16 * _CHUNK)
                chunk = decompressor.unconsumed_tail
            told(length - left)
        yield decompressor.flush()
    except zlib.error as error:
        raise InvalidBackup(f"it cannot be decompressed: {error}") from None
    if not decompressor.eof or decompressor.unused_data:
        raise InvalidBackup("its compressed part has another length than the file says")


def _header(frame: tuple[bytes, bytes] | None) -> Header:
    try:
        assert frame is not None and frame[0] == b"H"
        found: dict[str, Any] = json.loads(frame[1])
        found.setdefault("control_plane", "")  # an earlier version has written the file
        header = Header(**{each.name: found[each.name] for each in fields(Header)})
        assert isinstance(header.revision, int) and isinstance(header.prefix, str)
        assert isinstance(header.control_plane, str)
    except (AssertionError, ValueError, KeyError, TypeError):
        raise InvalidBackup("its header cannot be read") from None
    return header


def _records(frames: Iterator[tuple[bytes, bytes]]) -> Iterator[Lease | BackupKey]:
    keys, ended = 0, False
    for kind, content in frames:
        if ended:
            raise InvalidBackup("it goes on after its end")
        try:
            match kind:
                case b"L":
                    yield Lease(*_LEASE.unpack(content))
                case b"K":
                    lease, size = _KEY.unpack_from(content)
                    key = content[_KEY.size : _KEY.size + size]
                    if len(key) != size:
                        raise InvalidBackup("a key is cut off")
                    keys += 1
                    yield BackupKey(key, content[_KEY.size + size :], lease)
                case b"E":
                    ended = True
                    if _COUNT.unpack(content) != (keys,):
                        raise InvalidBackup("it has another number of keys than it says")
                case _:
                    raise InvalidBackup(f"it has a record of an unknown kind {kind!r}")
        except struct.error:
            raise InvalidBackup("a record is too short") from None
    if not ended:
        raise InvalidBackup("it has no end")
