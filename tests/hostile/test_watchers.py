"""Watches whose clients never read, while large objects change all the time."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

import pytest

from apiserver_gateway.testing import ApiServer
from tests.hostile.probe import held_at_most, memory
from tests.hostile.wire import Wire
from tests.integration.server.client import ask
from tests.limits import at_most

MAPS = "/api/v1/namespaces/default/configmaps"
CROWD = 60
LARGE = 500_000  # characters
CHANGES = 40
MOST = 200 << 20  # bytes


@contextlib.contextmanager
def deaf(server: ApiServer, query: str) -> Iterator[Wire]:
    """A watch whose client reads nothing."""
    with Wire(server) as wire:
        wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        wire.request(f"GET {MAPS}?watch=1&{query}")
        yield wire


@pytest.mark.parametrize("query", ["resourceVersion=0", "allowWatchBookmarks=true&labelSelector=a%3Db"])
def test_watchers_that_never_read_keep_nothing(server: ApiServer, query: str) -> None:
    """Unread events are kept once for all watches, and no more of them than of any history."""
    body = {"metadata": {"name": "large", "labels": {"a": "b"}}, "data": {"a": "x" * LARGE}}
    ask(server, "DELETE", f"{MAPS}/large")
    assert ask(server, "POST", MAPS, body).status == 201
    before = memory(server.pid)
    with held_at_most(server, 0.1), contextlib.ExitStack() as stack:
        for _ in range(CROWD):
            stack.enter_context(deaf(server, query))
        for number in range(CHANGES):
            body["data"] = {"a": f"{number}".ljust(LARGE, "x")}
            assert ask(server, "PUT", f"{MAPS}/large", body).status == 200
        at_most(memory(server.pid) - before, MOST, "{found} bytes are kept, {limit} are allowed")
    assert ask(server, "DELETE", f"{MAPS}/large").status == 200
