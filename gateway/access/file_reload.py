"""Reloads files when they change: CAs, certificates, keys, configurations. If a changed file is invalid, the error is
logged and counted, and the last valid content stays in force.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from gateway.time_limits import in_thread
from storage.instruments import BETA, Gauges, counter, gauge

_LABELS = ("status", "apiserver_id_hash")

logger = logging.getLogger(__name__)

INTERVAL = 1.0  # seconds between two checks of the files

_Seen = tuple[tuple[int, int, int] | None, ...]


@dataclass(frozen=True, slots=True)
class Followed:
    """Files or directories to follow. `what` names them in logs. `reload` reads them, and raises OSError or ValueError
    if they are invalid. `prepare` runs before it in a thread, for slow work; it raises nothing.
    """

    what: str
    paths: tuple[Path, ...]
    reload: Callable[[], None]
    prepare: Callable[[], None] | None = None

    def seen(self) -> _Seen:
        """The state of the files, to compare with a later one: times, inodes and sizes; None for a missing file."""
        return tuple(_state(each) for path in self.paths for each in (path, *_within(path)))


class Following:
    """Checks the followed files at intervals."""

    def __init__(self, interval: float = INTERVAL) -> None:
        self._interval, self._any = interval, asyncio.Event()
        self._followed: list[tuple[Followed, list[_Seen]]] = []

    def add(self, followed: Followed) -> None:
        """Adds files to follow, which are in force."""
        _show(followed)
        self._followed.append((followed, [followed.seen()]))
        self._any.set()

    async def run(self, stopping: asyncio.Event) -> None:
        """Checks the files until `stopping` is set."""
        await self._any.wait()
        while not stopping.is_set():
            try:
                await asyncio.wait_for(stopping.wait(), self._interval)
            except TimeoutError:
                await self.look()

    async def look(self) -> None:
        """Reloads the files that have changed."""
        for each, seen in tuple(self._followed):
            now = each.seen()
            if now == seen[0] or None in now:
                continue  # unchanged, or missing while it is being replaced, which the next check sees
            seen[0] = now
            if each.prepare is not None:
                await in_thread(each.prepare)
            try:
                each.reload()
            except (OSError, ValueError) as error:
                _count(each.what, "failure")
                logger.error("%s changed and cannot be used: %s", each.what, error)
            else:
                _count(each.what, "success")
                _show(each)
                logger.info("%s: file read again", each.what)


def _within(path: Path) -> list[Path]:
    try:
        return sorted(each for each in path.iterdir() if each.exists()) if path.is_dir() else []
    except OSError:
        return []


def show_digest(family: Gauges, digest: str, *labels: str) -> None:
    """Shows the digest of the files in force, "" for none, as the last label; the child of an older one disappears."""
    for known, _ in family.children():
        if known[:-1] == labels and known[-1] != digest:
            family.drop(known)
    if digest:
        family.labels(*labels, digest).set(1)


_CONTROLLERS = {
    flag: (
        counter(
            f"apiserver_{what}_config_controller_automatic_reloads_total",
            f"How often the file of {flag} was reloaded, by result.",
            *_LABELS,
            level=BETA,
        ),
        gauge(
            f"apiserver_{what}_config_controller_automatic_reload_last_timestamp_seconds",
            f"When the file of {flag} was last reloaded.",
            *_LABELS,
            level=BETA,
            across="max",
        ),
        gauge(
            f"apiserver_{what}_config_controller_last_config_info",
            f"Digest of the file of {flag} that is in force.",
            *("apiserver_id_hash", "hash"),
            across="max",
        ),
    )
    for flag, what in (("--authentication-config", "authentication"), ("--authorization-config", "authorization"))
}


def _count(what: str, status: str) -> None:
    """Counts a reload, for the configuration files whose reloads kube-apiserver counts."""
    if what in _CONTROLLERS:
        reloads, at, _ = _CONTROLLERS[what]
        reloads.labels(status, _server()).inc()
        at.labels(status, _server()).set(time.time())


def _show(followed: Followed) -> None:
    """Shows the digest of a configuration file whose reloads are counted."""
    if followed.what in _CONTROLLERS:
        with suppress(OSError):  # it is being replaced: the next check shows it
            show_digest(_CONTROLLERS[followed.what][2], digest_of(followed.paths[0].read_bytes()), _server())


def _server() -> str:
    return digest_of(socket.gethostname().encode())


def digest_of(content: bytes) -> str:
    """The SHA-256 of a content, as metrics show it: "sha256:HEX"."""
    return f"sha256:{sha256(content).hexdigest()}"


def _state(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size
