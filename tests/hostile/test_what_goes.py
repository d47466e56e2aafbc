"""Deleted objects leave nothing behind: kinds, namespaces, webhooks, APIServices and users come and go, twice.

Each round has new names. The second round adds neither metric series nor much memory. ROUNDS=5 makes more. The server's
histories of changes are short here: they are bounded, but would need several rounds to become full.
"""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from apiserver_gateway.testing import ApiServer
from gateway.endpoints.table import LINGER
from gateway.jsontypes import JsonObject
from tests.integration.server.client import connect
from tests.until import until

ROUNDS = int(os.environ.get("ROUNDS", "2"))
NUMBER = 200  # of objects in each round: a leak of MOST_BYTES each is 4 MB
MOST_SERIES = 100  # that a round may add: counters with labels that all requests share
MOST_BYTES = 20_000  # that an object may leave; each deleted kind once left 240 KB
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
NAMESPACES = "/api/v1/namespaces"

SHORT_HISTORIES = """
import sys
from storage.history import History

History.__init__.__defaults__ = (100, 1 << 20)  # changes, bytes

from gateway.commands.cli import main

sys.exit(main(sys.argv[1:]))
"""


class ForgetfulServer(ApiServer):
    """A server with short histories of changes."""

    def _command(self, control: int) -> list[str]:
        python, _, _, *arguments = super()._command(control)
        return [python, "-c", SHORT_HISTORIES, *arguments]


@pytest.fixture
def api(tmp_path: Path) -> Iterator[ApiServer]:
    server = ForgetfulServer(tmp_path)
    server.start()
    yield server
    server.stop()


PATIENCE = 600.0  # seconds: hundreds of objects go, on a busy machine


class Client:
    """Sends requests on one connection: thousands of handshakes would take most of the time."""

    def __init__(self, api: ApiServer) -> None:
        self._connection, self._token = connect(api), api.token

    def ask(self, method: str, path: str, body: JsonObject | None = None, **headers: str) -> tuple[int, bytes]:
        """Returns the status and the body. `_` in a keyword stands for `-` in the name of a header."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        sent |= {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        self._connection.request(method, path, None if body is None else json.dumps(body), sent)
        answer = self._connection.getresponse()
        return answer.status, answer.read()

    def post(self, path: str, body: JsonObject) -> None:
        status, answer = self.ask("POST", path, body)
        assert status == 201, answer

    def serves(self, path: str) -> bool:
        return self.ask("GET", path)[0] == 200

    def refuses(self, path: str) -> bool:
        """Whether a path belongs to an APIService whose server does not exist."""
        return self.ask("GET", path)[0] == 503

    def delete(self, collection: str, names: list[str]) -> None:
        """Deletes objects, and waits until they are gone."""
        for name in names:
            self.ask("DELETE", f"{collection}/{name}")
        gone = set(names)

        def left() -> set[str]:
            return gone & {each["metadata"]["name"] for each in json.loads(self.ask("GET", collection)[1])["items"]}

        until(lambda: not left(), PATIENCE)

    def series(self) -> int:
        """The number of lines in /metrics."""
        return self.ask("GET", "/metrics")[1].count(b"\n")


def memory(api: ApiServer) -> int:
    """The private memory of the server in bytes."""
    lines = Path(f"/proc/{api.pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith(("Private_Dirty", "Swap:")))


def comes_back(api: ApiServer, most: int) -> None:
    """Waits until the server has freed memory, for as long as a busy machine may take."""
    end = time.monotonic() + 60
    while memory(api) >= most and time.monotonic() < end:
        time.sleep(0.1)


def linger() -> None:
    """Watches of a deleted kind stay open for LINGER seconds."""
    time.sleep(2 * LINGER)


def kinds(client: Client, names: list[str]) -> None:
    for name in names:
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
        spec = {"group": "e.com", "scope": "Namespaced", "versions": [version]}
        spec["names"] = {"plural": name, "kind": name.title()}
        client.post(DEFINITIONS, {"metadata": {"name": f"{name}.e.com"}, "spec": spec})
    for name in names:
        path = f"/apis/e.com/v1/namespaces/default/{name}"
        until(partial(client.serves, path), PATIENCE)
        client.post(path, {"apiVersion": "e.com/v1", "kind": name.title(), "metadata": {"name": "one"}})
        client.ask("GET", path)
    client.ask("GET", "/openapi/v3/apis/e.com/v1")
    client.delete(DEFINITIONS, [f"{name}.e.com" for name in names])
    linger()


def namespaces(client: Client, names: list[str]) -> None:
    for name in names:
        client.post(NAMESPACES, {"metadata": {"name": name}})
        client.post(f"{NAMESPACES}/{name}/configmaps", {"metadata": {"name": "one"}})
        client.post(f"{NAMESPACES}/{name}/resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}})
        client.ask("GET", f"{NAMESPACES}/{name}/configmaps")
    client.delete(NAMESPACES, names)


def webhooks(client: Client, names: list[str]) -> None:
    """Each webhook is called once, and its server does not exist."""
    for name in names:
        rule = {"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
        hook = {
            "name": f"{name}.e.com",
            "clientConfig": {"url": "https://127.0.0.1:1/"},
            "rules": [rule],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "failurePolicy": "Ignore",
            "matchConditions": [{"name": "named", "expression": f"object.metadata.name == '{name}'"}],
        }
        client.post(HOOKS, {"metadata": {"name": name}, "webhooks": [hook]})
        client.post(f"{NAMESPACES}/default/configmaps?dryRun=All", {"metadata": {"name": name}})
        client.ask("DELETE", f"{HOOKS}/{name}")


def extension_apis(client: Client, names: list[str]) -> None:
    for name in names:
        spec = {"group": f"{name}.com", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1}
        spec |= {"service": {"namespace": "default", "name": name}, "insecureSkipTLSVerify": True}
        client.post(SERVICES, {"metadata": {"name": f"v1.{name}.com"}, "spec": spec})
        until(partial(client.refuses, f"/apis/{name}.com/v1/things"), PATIENCE)
    client.delete(SERVICES, [f"v1.{name}.com" for name in names])
    linger()


def users(client: Client, names: list[str]) -> None:
    for name in names:
        headers = {"Impersonate_User": name, "Impersonate_Group": f"of-{name}"}
        for path in (f"{NAMESPACES}/default/configmaps", "/version"):
            client.ask("GET", path, **headers)
        client.ask("POST", f"{NAMESPACES}/default/configmaps", {"metadata": {"name": name}}, **headers)


@pytest.mark.timeout(900)  # it makes and deletes 400 kinds
@pytest.mark.parametrize("use", [kinds, namespaces, webhooks, extension_apis, users])
def test_what_has_gone_leaves_nothing(api: ApiServer, use: Callable[[Client, list[str]], None]) -> None:
    found, client = [], Client(api)
    for turn in range(ROUNDS):
        use(client, [f"n{turn}x{each}s" for each in range(NUMBER)])
        if found:
            comes_back(api, found[-1][1] + MOST_BYTES * NUMBER)
        found.append((client.series(), memory(api)))
    for before, after in itertools.pairwise(found):
        assert after[0] - before[0] < MOST_SERIES, found
        assert after[1] - before[1] < MOST_BYTES * NUMBER, found
