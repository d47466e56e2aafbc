"""Clients that send much over a WebSocket, and do not read."""

from __future__ import annotations

import contextlib

from apiserver_gateway.testing import ApiServer
from gateway.http.websocket import PING, frame
from tests.hostile.probe import held_at_most, memory_returns
from tests.hostile.wire import Wire

LIMIT = 0.1
LARGE = 8 << 20
WATCH = "GET /api/v1/namespaces/default/configmaps?watch=1"
UPGRADE = (
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version: 13",
    "Origin: https://example.org",
)


def test_pings_hold_nobody_and_their_answers_do_not_pile_up(server: ApiServer) -> None:
    head = frame(PING, b"x")
    ping = bytes((head[0], head[1] | 128)) + b"\1\2\3\4" + b"y"
    with Wire(server) as wire, memory_returns(server), held_at_most(server, LIMIT):
        wire.request(WATCH, *UPGRADE)
        with contextlib.suppress(OSError):  # for a minute the server does not read what it would have to answer
            for _ in range(LARGE // len(ping) // 10_000):
                wire.send(ping * 10_000)
