"""What the gateway is compared with: a bare ASGI function under the same uvicorn settings that returns given bytes.

    python -m tests.benchmarks.raw PORT DIRECTORY

Serves each file of DIRECTORY under its name, /pod or /list; `/stream` waits for a POST to /go, then sends the lines of
the file `events` one a chunk.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any

import uvicorn

from gateway.credentials.certificates import server_context
from gateway.http.acceptor import BACKLOG
from gateway.launch.process import KEEP_ALIVE

PIECE = 1 << 20
Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]


class Raw:
    def __init__(self, directory: Path) -> None:
        bodies = {f"/{path.name}": path.read_bytes() for path in directory.iterdir() if path.suffix == ""}
        self.events = bodies.pop("/events", b"").splitlines(keepends=True)
        self.bodies = {
            name: [body[at : at + PIECE] for at in range(0, len(body), PIECE)] for name, body in bodies.items()
        }
        self.go: asyncio.Event | None = None

    async def __call__(self, scope: Message, receive: Callable[[], Awaitable[Message]], send: Send) -> None:
        if scope["type"] == "lifespan":
            self.go = asyncio.Event()
            for _ in range(2):
                await send({"type": (await receive())["type"] + ".complete"})
            return
        path = scope["path"]
        if path == "/stream":
            await self.stream(send)
            return
        if path == "/go":
            assert self.go is not None
            self.go.set()
        pieces = self.bodies.get(path, [b"{}"])
        size = b"%d" % sum(map(len, pieces))
        headers = [(b"content-type", b"application/json"), (b"content-length", size)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for piece in pieces[:-1]:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": pieces[-1]})

    async def stream(self, send: Send) -> None:
        assert self.go is not None
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"\n", "more_body": True})
        await self.go.wait()
        for event in self.events:
            await send({"type": "http.response.body", "body": event, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


def main() -> None:
    port, directory = int(sys.argv[1]), Path(sys.argv[2])
    config = uvicorn.Config(
        Raw(directory),
        loop="uvloop",
        http="httptools",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE,
    )
    config.load()
    config.ssl = server_context(directory / "tls.crt", directory / "tls.key")
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
