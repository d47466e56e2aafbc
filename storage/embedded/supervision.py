"""Restarts an embedded etcd when it ends by itself."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from storage.embedded.errors import EmbeddedEtcdError
from storage.embedded.member import EmbeddedEtcd

logger = logging.getLogger(__name__)

PAUSES: Final = (0.0, 0.1, 0.5, 1.0, 2.0, 4.0)  # seconds before each attempt; after the last one no more are made
SETTLED: Final = 60.0  # seconds after which an etcd counts as running well


class Supervised:
    """Watches a running etcd from a thread of its own, and restarts it on the same address when it ends.

    If the restart fails, or etcd keeps ending, it calls `lost` once, in that thread, with the reason.
    """

    def __init__(self, etcd: EmbeddedEtcd, lost: Callable[[str], None], pauses: Sequence[float] = PAUSES) -> None:
        self._etcd, self._lost, self._pauses = etcd, lost, pauses
        self._closing = threading.Event()
        self._starting = threading.Lock()
        self._failure = ""
        threading.Thread(target=self._watch, name="etcd-supervision", daemon=True).start()

    def close(self) -> None:
        """Stops etcd for good."""
        self._closing.set()
        if not self._starting.acquire(blocking=False):
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._etcd.pid, signal.SIGKILL)  # an etcd that is just starting has no data to lose
            self._starting.acquire()
        self._etcd.close()

    def _watch(self) -> None:
        try:
            self._keep_up()
        except Exception as error:  # else the thread would end silently, and etcd would not be restarted
            logger.exception("the embedded etcd cannot be supervised")
            self._lost(f"it cannot be supervised: {error}")

    def _keep_up(self) -> None:
        attempts = 0
        while True:
            began = time.monotonic()
            status = self._etcd.wait()
            if self._closing.is_set():
                return
            if time.monotonic() - began > SETTLED:
                attempts = 0
            reason = f"it ended with status {status}: {self._etcd.last_words()}"
            if not self._etcd.has_data():
                return self._lost(f"its data directory {self._etcd.data_dir} does not exist any more")
            logger.error("the embedded etcd ended, starting it again", extra={"status": status, "reason": reason})
            while not self._started(attempts):
                attempts += 1
                if self._closing.is_set():
                    return
                if attempts >= len(self._pauses):
                    return self._lost(self._failure or reason)
            attempts += 1

    def _started(self, attempt: int) -> bool:
        """Waits for the pause of this attempt and starts etcd; whether that succeeded."""
        self._failure = ""
        if attempt >= len(self._pauses) or self._closing.wait(self._pauses[attempt]):
            return False
        with self._starting:
            if self._closing.is_set():
                return False
            try:
                self._etcd.kill()
                self._etcd.start()
            except (EmbeddedEtcdError, OSError) as error:
                self._failure = str(error)
                logger.error("the embedded etcd did not start again", extra={"reason": self._failure})
                return False
        logger.warning("the embedded etcd is running again", extra={"pid": self._etcd.pid})
        return True
