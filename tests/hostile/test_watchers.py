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
MANY = 100  # watches that begin at once; so many that a turn for each eight of them would be too long
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


SELECTORS = {
    "labels": lambda number: "labelSelector=" + "%2C".join(f"a{number}.example.com/key{n}=v" for n in range(1000)),
    "fields": lambda number: "fieldSelector=" + "%2C".join(f"metadata.name!=a{number}-{n}" for n in range(5000)),
    "many labels": lambda number: "labelSelector=" + "%2C".join(f"a{number}-{n}+notin+(b%2Cc)" for n in range(2000)),
}


@pytest.mark.parametrize("name", SELECTORS)
def test_many_watches_with_long_selectors_hold_nobody(server: ApiServer, name: str) -> None:
    """Each selector takes milliseconds: only one is parsed in a turn of the event loop."""
    with contextlib.ExitStack() as stack:
        wires = [stack.enter_context(Wire(server)) for _ in range(MANY)]
        with held_at_most(server, 0.05):
            for number, wire in enumerate(wires):
                wire.request(f"GET {MAPS}?watch=1&timeoutSeconds=1&{SELECTORS[name](number)}")
            for wire in wires:
                assert wire.reply().status == 200
