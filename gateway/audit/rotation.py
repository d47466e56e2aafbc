"""A log file that is rotated when it is large: to `name-TIME.ext` beside it, which is compressed and later deleted.

Several processes may write one file: each appends whole lines, and one of them at a time rotates it.
"""

from __future__ import annotations

import fcntl
import gzip
import logging
import os
import re
import shutil
import stat
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from gateway.pieces import survive

logger = logging.getLogger(__name__)

_MEGABYTE = 1 << 20
_DAY = 24 * 3600
_TIME = "%Y-%m-%dT%H-%M-%S.%f"


@dataclass(frozen=True, slots=True)
class Keeping:
    """When files are put aside, and how many of those stay: 0 is any number, age (days) and size (MiB)."""

    size: int = 0
    backups: int = 0
    age: int = 0
    compress: bool = False


class RotatedFile:
    """The file; used by one thread."""

    def __init__(self, path: Path, keeping: Keeping) -> None:
        self._path, self._keeping = path, keeping
        self._descriptor = -1
        self._tidying: threading.Thread | None = None

    def open(self) -> None:
        """Opens the file, making it and its directory if need be. Raises OSError."""
        self.close()
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._descriptor = os.open(self._path, os.O_CREAT | os.O_APPEND | self._access() | os.O_CLOEXEC, 0o600)

    def write(self, data: bytes) -> None:
        """Appends lines; the file is put aside before that if they have no room in it. Raises OSError."""
        if not self._is_ours():
            self.open()
        limit = self._keeping.size * _MEGABYTE
        if limit:
            size = os.fstat(self._descriptor).st_size
            if size and size + len(data) > limit:
                self._put_aside(limit - len(data))
        view = memoryview(data if self._begins_a_line() else b"\n" + data)
        while view:
            view = view[os.write(self._descriptor, view) :]

    def _access(self) -> int:
        """A file is read too: its last byte tells how it ends. A pipe is only written to."""
        return os.O_RDWR if self._path.is_file() or not self._path.exists() else os.O_WRONLY

    def _begins_a_line(self) -> bool:
        """Whether what is written now begins a line: who wrote last may have got no room for the end of its own."""
        if not stat.S_ISREG((found := os.fstat(self._descriptor)).st_mode) or not found.st_size:
            return True
        return os.pread(self._descriptor, 1, found.st_size - 1) == b"\n"

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _is_ours(self) -> bool:
        """Whether the open file is still the one of that name: another process may have put it aside."""
        if self._descriptor < 0:
            return False
        try:
            found, ours = self._path.stat(), os.fstat(self._descriptor)
        except FileNotFoundError:
            return False
        return not self._path.is_file() or (found.st_ino, found.st_dev) == (ours.st_ino, ours.st_dev)

    def _put_aside(self, room: int) -> None:
        directory = os.open(self._path.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(directory, fcntl.LOCK_EX)
            if self._is_ours() and os.fstat(self._descriptor).st_size > room:
                moment = datetime.now(UTC).strftime(_TIME)[:-3]
                aside = self._path.with_name(f"{self._path.stem}-{moment}{self._path.suffix}")
                if not aside.exists() and not _packed(aside).exists():
                    self._path.rename(aside)
            self.open()
        finally:
            os.close(directory)
        if self._tidying is None or not self._tidying.is_alive():  # packing takes longer than writers may wait
            self._tidying = threading.Thread(target=self._tidy_up, name="audit-rotation", daemon=True)
            self._tidying.start()

    def settle(self) -> None:
        """Waits until the files that were put aside are packed and thrown away as they should be."""
        if self._tidying is not None:
            self._tidying.join()

    def _tidy_up(self) -> None:
        none: list[Path] = []
        for backup in enumerate(survive(RotatedFile.backups, self, _not_tidied, none)):
            survive(self._tidy, backup, _not_tidied, None)

    def _tidy(self, backup: tuple[int, Path]) -> None:
        keeping, (index, old) = self._keeping, backup
        too_many = keeping.backups and index >= keeping.backups
        if too_many or (keeping.age and time.time() - old.stat().st_mtime > keeping.age * _DAY):
            old.unlink()
        elif keeping.compress and old.suffix != ".gz":
            _pack(old)

    def backups(self) -> list[Path]:
        """The files that were put aside, the last one first."""
        stem, suffix = re.escape(self._path.stem), re.escape(self._path.suffix)
        name = re.compile(rf"{stem}-\d{{4}}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{{3}}{suffix}(\.gz)?")
        found = [each for each in self._path.parent.iterdir() if name.fullmatch(each.name)]
        return sorted(found, key=lambda each: each.name, reverse=True)


def _not_tidied(what: object, error: Exception) -> None:
    """What cannot be thrown away or packed now may be the next time."""
    if not isinstance(error, OSError):
        logger.error("a file of the audit log could not be tidied up: %s", what, exc_info=error)


def _packed(path: Path) -> Path:
    return path.with_name(f"{path.name}.gz")


def _pack(path: Path) -> None:
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(unfinished, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    with path.open("rb") as plain, os.fdopen(descriptor, "wb") as raw, gzip.open(raw, "wb") as out:
        shutil.copyfileobj(plain, out)
    unfinished.rename(_packed(path))
    path.unlink()
