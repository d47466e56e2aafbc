"""A log file that is rotated when it is large: it is renamed to `name-TIME.ext`, then compressed, and later deleted.

Several processes may write to one file: each appends whole lines, and one at a time rotates it. A file that cannot be
rotated grows: its lines are worth more than its size.
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
_LOG_INTERVAL = 600.0  # seconds between two log entries about a file that cannot be rotated
_TIME = "%Y-%m-%dT%H-%M-%S.%f"


@dataclass(frozen=True, slots=True)
class Keeping:
    """When the file is rotated (`size` in MiB), and which backups are kept: their number, and their age in days. 0
    means no limit.
    """

    size: int = 0
    backups: int = 0
    age: int = 0
    compress: bool = False


class RotatedFile:
    """The log file. Only one thread may use it."""

    def __init__(self, path: Path, keeping: Keeping) -> None:
        self._path, self._keeping = path, keeping
        self._descriptor = -1
        self._tidying: threading.Thread | None = None
        self._complained = float("-inf")

    def open(self) -> None:
        """Opens the file, and makes it and its directory if they are missing. Raises OSError."""
        self.close()
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._descriptor = os.open(self._path, os.O_CREAT | os.O_APPEND | self._access() | os.O_CLOEXEC, 0o600)

    def write(self, data: bytes) -> None:
        """Appends lines; rotates the file before that if it would become too large, and if it can. Raises OSError."""
        if not self._is_ours():
            self.open()
        limit = self._keeping.size * _MEGABYTE
        if limit:
            size = os.fstat(self._descriptor).st_size
            if size and size + len(data) > limit:
                self._rotate(limit - len(data))
        view = memoryview(data if self._begins_a_line() else b"\n" + data)
        while view:
            view = view[os.write(self._descriptor, view) :]

    def _access(self) -> int:
        """The access mode: a regular file is read, too, to check its last byte; a pipe is only written."""
        return os.O_RDWR if self._path.is_file() or not self._path.exists() else os.O_WRONLY

    def _begins_a_line(self) -> bool:
        """Whether the file ends with a line end. It may not, if the disk was full during the last write."""
        if not stat.S_ISREG((found := os.fstat(self._descriptor)).st_mode) or not found.st_size:
            return True
        return os.pread(self._descriptor, 1, found.st_size - 1) == b"\n"

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _is_ours(self) -> bool:
        """Whether the open file still has the path: another process may have rotated it."""
        if self._descriptor < 0:
            return False
        try:
            found, ours = self._path.stat(), os.fstat(self._descriptor)
        except FileNotFoundError:
            return False
        return not self._path.is_file() or (found.st_ino, found.st_dev) == (ours.st_ino, ours.st_dev)

    def _rotate(self, room: int) -> None:
        """Rotates the file. One that is mounted by itself, or is in a read-only directory, cannot be renamed."""
        try:
            self._put_aside(room)
        except OSError as error:
            if not self._is_ours():
                self.open()
            if time.monotonic() - self._complained >= _LOG_INTERVAL:
                self._complained = time.monotonic()
                logger.error("the audit log cannot be rotated, and grows: %s", error.strerror)

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
        if self._tidying is None or not self._tidying.is_alive():  # in a thread, since compression takes long
            self._tidying = threading.Thread(target=self._tidy_up, name="audit-rotation", daemon=True)
            self._tidying.start()

    def settle(self) -> None:
        """Waits until backups are compressed and old ones deleted."""
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
        """The rotated files, the newest first."""
        stem, suffix = re.escape(self._path.stem), re.escape(self._path.suffix)
        name = re.compile(rf"{stem}-\d{{4}}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{{3}}{suffix}(\.gz)?")
        found = [each for each in self._path.parent.iterdir() if name.fullmatch(each.name)]
        return sorted(found, key=lambda each: each.name, reverse=True)


def _not_tidied(what: object, error: Exception) -> None:
    """Logs an error in tidying up, except OSError: the next rotation tries again."""
    if not isinstance(error, OSError):
        logger.error("an old file of the audit log could not be compressed or deleted: %s", what, exc_info=error)


def _packed(path: Path) -> Path:
    return path.with_name(f"{path.name}.gz")


def _pack(path: Path) -> None:
    """Compresses a file. A process that is killed meanwhile leaves an unfinished file, which the next one overwrites.

    The file is on the disk before the plain one is deleted, so that a crash of the machine loses no line. Raises
    OSError, also if another process compresses the file now.
    """
    unfinished = path.with_name(f".{path.name}.gz")
    with os.fdopen(os.open(unfinished, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600), "wb") as raw:
        fcntl.flock(raw, fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            with path.open("rb") as plain:  # it is gone if another process has just compressed it
                raw.truncate()
                with gzip.open(raw, "wb") as out:
                    shutil.copyfileobj(plain, out)
            raw.flush()
            os.fsync(raw.fileno())
            unfinished.rename(_packed(path))
            path.unlink()
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise
