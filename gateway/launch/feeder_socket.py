"""--shared-cache: the socket where workers connect to the feeder, the process that reads etcd for all workers."""

from __future__ import annotations

import socket
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Self

from gateway.launch.workers import ParentProcess
from gateway.memory import settle_malloc
from gateway.settings.config import Settings


class Feeding:
    """The socket, and the work of the feeder. A context manager, used in the parent of all processes."""

    def __init__(self, settings: Settings, siblings: Path) -> None:
        """`siblings` is the directory with the sockets by which the processes of the server find each other."""
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

    def work(self, parent: ParentProcess) -> int:
        """Runs the feeder until SIGTERM; returns the exit status. Never calls `parent.ready`: it is not a worker."""
        import uvloop

        from gateway.launch.feeder import feed

        settle_malloc()
        uvloop.run(feed(self._settings, self._listener, self._siblings, parent.beat))
        return 0
