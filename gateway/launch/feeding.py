"""--shared-cache: the socket at which workers find the process that reads etcd for all of them."""

from __future__ import annotations

import socket
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Self

from gateway.launch.workers import Parent
from gateway.memory import settle_malloc
from gateway.settings.config import Settings


class Feeding:
    """The socket, and the work of that process. A context manager, used in the parent of all."""

    def __init__(self, settings: Settings, siblings: Path) -> None:
        """`siblings` is the directory in which all processes of the server meet."""
        self._settings, self._siblings = settings, siblings

    def __enter__(self) -> Self:
        self._directory = TemporaryDirectory(prefix="apiserver-gateway-")
        self.path = Path(self._directory.name) / "feeder"
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(str(self.path))
        self._listener.listen(self._settings.workers + 8)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.close()
        self._directory.cleanup()

    def work(self, parent: Parent) -> int:
        """Feeds until SIGTERM; returns the exit status. Nobody waits for it."""
        import uvloop

        from gateway.launch.feeder import feed

        settle_malloc()
        uvloop.run(feed(self._settings, self._listener, self._siblings, parent.beat))
        return 0
