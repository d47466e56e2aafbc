"""Hostile requests against a server with several workers, and a worker that fails.

The kernel chooses the worker of a connection, so the tests reach both workers.
"""

from __future__ import annotations

import http.client
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from apiserver_gateway.testing import ApiServer, api_server
from tests.hostile import test_credentials, test_heads, test_identities
from tests.hostile.probe import processes
from tests.integration.server.client import ask, connect
from tests.until import until

AGAIN = test_credentials, test_heads, test_identities  # authentication, request heads and framing
MAPS = "/api/v1/namespaces/default/configmaps"
CLIENTS = 6
PATIENCE = 2.0  # seconds until a client gives up, while a worker may hang
LONG = 60.0  # the same, while none hangs

account = test_identities.account
for module in AGAIN:
    globals().update({name: each for name, each in vars(module).items() if name.startswith("test_") and callable(each)})


@pytest.fixture(scope="module")
def server_flags() -> tuple[str, ...]:
    return "--workers=2", "--shared-cache", "--enable-bootstrap-token-auth"


class Writers:
    """Clients that create ConfigMaps, each on a new connection, and the answers that they got."""

    def __init__(self, server: ApiServer) -> None:
        self._server, self._stop = server, threading.Event()
        self.made: set[str] = set()
        self.wrong: list[tuple[int, bytes]] = []
        self.unanswered = 0
        self.patience = PATIENCE

    @contextmanager
    def writing(self) -> Iterator[None]:
        threads = [threading.Thread(target=self._write, args=(number,)) for number in range(CLIENTS)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._stop.set()
            for thread in threads:
                thread.join()

    def more(self, count: int = 10) -> None:
        """Waits until `count` more were created."""
        wanted = len(self.made) + count
        until(lambda: len(self.made) >= wanted)

    def _write(self, client: int) -> None:
        number = 0
        while not self._stop.is_set():
            number += 1
            name = f"made-{client}-{number}"
            connection = connect(self._server, timeout=self.patience)
            try:
                body = f'{{"metadata":{{"name":"{name}"}}}}'
                headers = {"Authorization": f"Bearer {self._server.token}", "Content-Type": "application/json"}
                connection.request("POST", MAPS, body, headers)
                answer = connection.getresponse()
                said = answer.read()
            except (OSError, http.client.HTTPException):
                self.unanswered += 1
            else:
                if answer.status == 201:
                    self.made.add(name)
                else:
                    self.wrong.append((answer.status, said))
            finally:
                connection.close()


@pytest.mark.parametrize("shared", [(), ("--shared-cache",)], ids=["own caches", "a shared cache"])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_worker_that_fails_amid_requests_takes_its_own_alone(shared: tuple[str, ...], how: signal.Signals) -> None:
    """Other workers answer meanwhile. Answers that were sent are true, and no client gets the answer of another."""
    with api_server("--workers=2", *shared) as server:
        victim, writers = processes(server.pid)[-1], Writers(server)
        with writers.writing():
            writers.more()
            os.kill(victim, how)
            writers.more()
            if how == signal.SIGSTOP:
                os.kill(victim, signal.SIGCONT)
            else:
                until(lambda: victim not in (now := processes(server.pid)) and len(now) == 3 + len(shared))
            writers.patience, unanswered = LONG, writers.unanswered
            writers.more(40)
        assert not writers.wrong
        found = {each["metadata"]["name"] for each in ask(server, "GET", MAPS).json["items"]}
        assert writers.made <= found
        assert writers.unanswered - unanswered <= CLIENTS, "it goes on failing"
