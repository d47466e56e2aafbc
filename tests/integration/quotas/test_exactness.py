"""Quotas on two replicas: usage never exceeds the limit, no write is refused while there is room, no charge is lost."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer
from tests.integration.server.client import Answer, ask
from tests.limits import within
from tests.until import until

CLIENTS = 64
AT_ONCE = 1.0  # seconds that a server waits for a recount of freed usage before it refuses


class Namespace:
    """A namespace with a quota, on both servers."""

    def __init__(self, servers: tuple[ApiServer, ApiServer]) -> None:
        self.servers = servers
        self.name = f"q-{uuid.uuid4().hex[:8]}"
        self.path = f"/api/v1/namespaces/{self.name}"
        made = ask(servers[0], "POST", "/api/v1/namespaces", {"metadata": {"name": self.name}})
        assert made.status == 201, made.body

    def ask(self, method: str, path: str, body: Any = None, server: int = 0, **more: Any) -> Answer:
        return ask(self.servers[server], method, f"{self.path}/{path}", body, **more)

    def limit(self, name: str = "q", **spec: Any) -> None:
        """Creates a quota, and waits until both servers know it. Admission uses what a server knows, and etcd may
        answer a read before its watch event.
        """
        assert self.ask("POST", "resourcequotas", {"metadata": {"name": name}, "spec": spec}).status == 201
        for server in range(len(self.servers)):
            until(lambda server=server: self._told(name, server) == spec["hard"])

    def _told(self, name: str, server: int) -> Any:
        """The quota as a server knows it."""
        answer = self.ask("GET", f"resourcequotas/{name}?resourceVersion=0", server=server)
        return answer.json["status"].get("hard") if answer.status == 200 else None

    def status(self, name: str = "q", server: int = 0) -> dict[str, Any]:
        found: dict[str, Any] = self.ask("GET", f"resourcequotas/{name}", server=server).json["status"]
        return found

    def used(self, name: str = "q") -> dict[str, str]:
        found: dict[str, str] = self.status(name)["used"]
        return found

    def gets(self, resource: str, obj: dict[str, Any], server: int) -> None:
        """Creates as many objects as there is room for: none is refused, unless a busy machine delays the recount."""
        with within(AT_ONCE):
            until(lambda: self.ask("POST", resource, obj, server).status == 201)

    def create(self, name: str, server: int = 0, resource: str = "configmaps", query: str = "") -> Answer:
        return self.ask("POST", f"{resource}{query}", {"metadata": {"name": name}}, server)

    def count(self, resource: str = "configmaps") -> int:
        items = self.ask("GET", resource).json["items"]
        return sum(item["metadata"]["name"] != "kube-root-ca.crt" for item in items)


@pytest.fixture
def limited(servers: tuple[ApiServer, ApiServer]) -> Namespace:
    return Namespace(servers)


def test_exactly_as_many_are_created_as_there_is_room_for(limited: Namespace) -> None:
    limited.limit(hard={"secrets": "100", "count/secrets": "150"})
    with ThreadPoolExecutor(CLIENTS) as pool:
        servers = cycle((0, 1))
        jobs = [pool.submit(limited.create, f"s{i}", next(servers), "secrets") for i in range(160)]
        answers = [job.result() for job in jobs]
    assert sorted(answer.status for answer in answers) == [201] * 100 + [403] * 60
    refusals = {answer.json["message"].partition(": ")[2] for answer in answers if answer.status == 403}
    assert refusals == {"exceeded quota: q, requested: secrets=1, used: secrets=100, limited: secrets=100"}
    assert limited.count("secrets") == 100
    assert limited.used() == {"secrets": "100", "count/secrets": "100"}


def test_what_is_not_written_is_not_charged(limited: Namespace) -> None:
    limited.limit(hard={"secrets": "2"})
    assert limited.create("a", resource="secrets").status == 201
    assert limited.create("a", 1, resource="secrets").status == 409
    assert limited.create("a b", resource="secrets").status == 422
    assert limited.create("b", 1, resource="secrets", query="?dryRun=All").status == 201
    assert limited.used() == {"secrets": "1"}
    assert limited.create("b", resource="secrets").status == 201
    assert limited.create("c", resource="secrets", query="?dryRun=All").status == 403


def test_there_is_room_at_once_after_a_deletion(limited: Namespace) -> None:
    limited.limit(hard={"secrets": "1"})
    for turn in range(10):
        limited.gets("secrets", {"metadata": {"name": "s"}}, turn % 2)
        assert limited.ask("DELETE", "secrets/s", server=1 - turn % 2).status == 200
    until(lambda: limited.used() == {"secrets": "0"})


def test_a_raised_limit_holds_at_once_on_the_other_replica(limited: Namespace) -> None:
    limited.limit(hard={"secrets": "1"})
    assert limited.create("a", resource="secrets").status == 201
    change = {"status": {"hard": {"secrets": "2"}}}
    headers = {"Content-Type": "application/merge-patch+json"}
    assert limited.ask("PATCH", "resourcequotas/q/status", change, headers=headers).status == 200
    assert limited.create("b", 1, resource="secrets").status == 201


def test_several_quotas_are_charged_together_or_not_at_all(limited: Namespace) -> None:
    limited.limit("a", hard={"secrets": "9"})
    limited.limit("b", hard={"secrets": "5"})
    with ThreadPoolExecutor(CLIENTS) as pool:
        jobs = [pool.submit(limited.create, f"s{i}", i % 2, "secrets") for i in range(30)]
        statuses = [job.result().status for job in jobs]
    assert statuses.count(201) == 5 and limited.used("a") == limited.used("b") == {"secrets": "5"}


def test_pods_give_back_what_they_used_once_they_have_ended(limited: Namespace) -> None:
    limited.limit(hard={"requests.cpu": "1", "count/pods": "5"})
    spec = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "600m"}}}]}
    first = {"metadata": {"name": "a"}, "spec": spec}
    assert limited.ask("POST", "pods", first).status == 201
    second = {"metadata": {"name": "b"}, "spec": spec}
    assert limited.ask("POST", "pods", second).status == 403
    ended = {"status": {"phase": "Succeeded"}}
    headers = {"Content-Type": "application/merge-patch+json"}
    assert limited.ask("PATCH", "pods/a/status", ended, headers=headers).status == 200
    limited.gets("pods", second, 1)
    until(lambda: limited.used() == {"requests.cpu": "600m", "count/pods": "2"})


def test_the_api_server_owns_what_it_has_charged(limited: Namespace) -> None:
    limited.limit(hard={"secrets": "3"})
    for name in ("a", "b"):
        assert limited.create(name, resource="secrets").status == 201
    entries = limited.ask("GET", "resourcequotas/q").json["metadata"]["managedFields"]
    owners = [
        each["manager"] for each in entries if "f:secrets" in each["fieldsV1"].get("f:status", {}).get("f:used", {})
    ]
    assert owners == ["kube-apiserver"]
