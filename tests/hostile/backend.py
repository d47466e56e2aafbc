"""An extension API server, or a kubelet, that answers what a test wants."""

from __future__ import annotations

import contextlib
import re
import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from apiserver_gateway.testing import ApiServer
from tests.hostile.wire import Reply, Wire
from tests.integration.server.client import ask

GROUP = "hostile.example.com"
ROOT = f"/apis/{GROUP}/v1"
SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
OK = b"HTTP/1.1 200 OK\r\n"
LIST = b'{"kind":"APIResourceList","groupVersion":"hostile.example.com/v1","resources":[]}'
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
HEAD = re.compile(rb"([A-Z]+) (\S+) HTTP/1\.1\r\n(.*?)\r\n\r\n", re.DOTALL)


def nothing(_path: bytes) -> bytes:
    """The discovery of a server without resources."""
    return OK + b"Content-Length: %d\r\n\r\n%b" % (len(LIST), LIST)


@dataclass
class Backend:
    """An extension API server that answers discovery by `discovery`. Requests below it are answered by `answer`."""

    port: int = 0
    bundle: str = ""
    discovery: Callable[[bytes], bytes] = nothing
    answer: Callable[[ssl.SSLSocket], None] = lambda _: None
    heads: list[bytes] = field(default_factory=list)
    ended: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    busy: set[ssl.SSLSocket] = field(default_factory=set)  # connections on which an answer is being sent

    def serve(self, listener: socket.socket, context: ssl.SSLContext) -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self._talk, args=(listener.accept()[0], context), daemon=True).start()

    def _talk(self, plain: socket.socket, context: ssl.SSLContext) -> None:
        with contextlib.suppress(OSError), context.wrap_socket(plain, server_side=True) as connection:
            said = b""
            while data := connection.recv(65536):
                said += data
                while found := HEAD.match(said):
                    said = said[found.end() :]
                    if b"/things" not in found[2] and b"/exec/" not in found[2]:
                        connection.sendall(self.discovery(found[2]))
                        continue
                    self.heads.append(found[0])
                    self.busy.add(connection)
                    try:
                        self.answer(connection)
                    finally:
                        self.ended.release()
                        self.busy.discard(connection)
                    if self.answer not in KEPT:
                        return


def register(server: ApiServer, backend: Backend) -> None:
    spec: dict[str, object] = {"type": "ExternalName", "externalName": "127.0.0.1", "ports": [{"port": backend.port}]}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "ext"}, "spec": spec}
    assert ask(server, "POST", "/api/v1/namespaces/default/services", service).status == 201
    place = {"namespace": "default", "name": "ext", "port": backend.port}
    spec = {"group": GROUP, "version": "v1", "service": place, "caBundle": backend.bundle}
    spec |= {"groupPriorityMinimum": 100, "versionPriority": 10}
    metadata = {"name": f"v1.{GROUP}"}
    made = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": metadata, "spec": spec}
    assert ask(server, "POST", SERVICES, made).status == 201


def once(answer: bytes) -> Callable[[ssl.SSLSocket], None]:
    return lambda connection: connection.sendall(answer)


def endless(piece: bytes, start: bytes) -> Callable[[ssl.SSLSocket], None]:
    def answer(connection: ssl.SSLSocket) -> None:
        connection.sendall(start)
        while True:
            connection.sendall(piece * 4096)

    return answer


def asked(server: ApiServer, line: str, *headers: str, body: bytes = b"") -> Reply:
    with Wire(server) as wire:
        wire.request(line, *headers, body=body)
        return wire.reply()


TWICE = once(OK + b"Content-Length: 2\r\n\r\nok" + OK + b"Content-Length: 6\r\n\r\nforged")
KEPT = (TWICE,)
