"""A webhook that answers whatever a test wants, over TLS."""

from __future__ import annotations

import base64
import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from gateway.credentials.certificates import ensure_certificates, server_context


@dataclass
class Hook:
    """A webhook that reads the head of a request and then calls `answer`; `asked` counts its connections."""

    port: int = 0
    ca_bundle: str = ""
    answer: Callable[[ssl.SSLSocket], None] = lambda _: None
    asked: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    ended: threading.Event = field(default_factory=threading.Event)

    def serve(self, listener: socket.socket, context: ssl.SSLContext) -> None:
        while not self.ended.is_set():
            with contextlib.suppress(OSError):
                threading.Thread(target=self._talk, args=(listener.accept()[0], context), daemon=True).start()

    def _talk(self, plain: socket.socket, context: ssl.SSLContext) -> None:
        with contextlib.suppress(OSError), context.wrap_socket(plain, server_side=True) as connection:
            connection.recv(65536)
            self.asked.release()
            self.answer(connection)


@contextlib.contextmanager
def serving(directory: Path) -> Iterator[Hook]:
    """A webhook at localhost. Its certificate and key are made in a directory."""
    files = ensure_certificates(directory, ["localhost"])
    made = Hook(ca_bundle=base64.b64encode(files.ca.read_bytes()).decode())
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        made.port = listener.getsockname()[1]
        context = server_context(files.certificate, files.key)
        threading.Thread(target=made.serve, args=(listener, context), daemon=True).start()
        yield made
        made.ended.set()
