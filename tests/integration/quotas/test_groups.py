"""Writes that are charged in groups: a failed write's charge is given back, a crash's is repaired, recounts remove
none.
"""

from __future__ import annotations

import json
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException

import pytest

from apiserver_gateway.testing import ApiServer
from gateway.quotas.marks import new_mark
from storage.embedded import EmbeddedEtcd
from storage.entry import MARK
from storage.etcd import EtcdClient
from tests.forked import api_server
from tests.integration.customresources.test_watches import watching
from tests.integration.quotas.conftest import FLAGS
from tests.integration.quotas.test_exactness import CLIENTS, Namespace
from tests.integration.quotas.test_model import ELECTED, MERGE, Replicas
from tests.integration.reads.api import on_etcd
from tests.integration.server.client import ask
from tests.until import until


@pytest.fixture
def limited(servers: tuple[ApiServer, ApiServer]) -> Namespace:
    return Namespace(servers)


def test_what_is_charged_and_not_made_is_given_back_before_anything_is_refused(limited: Namespace) -> None:
    limited.limit(hard={"secrets": "20"})
    with ThreadPoolExecutor(CLIENTS) as pool:
        jobs = [pool.submit(limited.create, f"s{i % 20}", 0, "secrets") for i in range(60)]
        statuses = [job.result().status for job in jobs]
    assert statuses.count(201) == limited.count("secrets") == 20
    assert set(statuses) <= {201, 403, 409}
    until(lambda: limited.used() == {"secrets": "20"})


def test_a_name_that_is_taken_leaves_its_room_to_others(limited: Namespace) -> None:
    limited.limit(hard={"secrets": "40"})
    assert limited.create("taken", resource="secrets").status == 201
    with ThreadPoolExecutor(CLIENTS) as pool:
        names = [f"s{i // 2}" if i % 2 else "taken" for i in range(78)]
        jobs = [pool.submit(limited.create, name, i % 2, "secrets") for i, name in enumerate(names)]
        statuses = [job.result().status for job in jobs]
    assert statuses.count(201) == 39
    assert limited.count("secrets") == 40


def test_recounts_undo_no_charge(limited: Namespace) -> None:
    """Objects are created on both servers and others deleted meanwhile; each deletion causes a recount."""
    limited.limit(hard={"secrets": "30"})
    most, over = [0], threading.Event()

    def come_and_go(number: int) -> None:
        name = f"s{number}"
        if limited.create(name, number % 2, "secrets").status == 201 and number % 3:
            limited.ask("DELETE", f"secrets/{name}", server=number // 2 % 2)

    def look() -> None:
        while not over.is_set() or not most[0]:  # at the end there must be some, too
            most[0] = max(most[0], limited.count("secrets"))

    with ThreadPoolExecutor(CLIENTS + 1) as pool:
        looking = pool.submit(look)
        for job in [pool.submit(come_and_go, number) for number in range(300)]:
            job.result()
        over.set()
        looking.result()
    assert 0 < most[0] <= 30
    until(lambda: limited.used() == {"secrets": str(limited.count("secrets"))})


def test_a_charge_without_a_write_is_released_after_a_while(limited: Namespace) -> None:
    """A server leaves such a charge if it ends between the charge and the write."""
    limited.limit(hard={"secrets": "5"})
    assert limited.create("a", resource="secrets").status == 201
    _charge_as_a_group(limited, "q", "4")
    until(lambda: limited.used() == {"secrets": "1"})


def test_a_usage_that_somebody_writes_stays_until_the_next_recount(limited: Namespace) -> None:
    """As in kube-controller-manager, which recounts when a quota's limits change or a counted object is deleted."""
    limited.limit(hard={"secrets": "5"})
    limited.limit("later", hard={"secrets": "5"})
    assert limited.create("a", resource="secrets").status == 201
    written = {"status": {"used": {"secrets": "4"}}}
    assert limited.ask("PATCH", "resourcequotas/q/status", written, headers=MERGE).status == 200
    _charge_as_a_group(limited, "later", "3")
    until(lambda: limited.used("later") == {"secrets": "1"})
    assert limited.used() == {"secrets": "4"}
    assert limited.ask("DELETE", "secrets/a").status == 200
    until(lambda: limited.used() == {"secrets": "0"})


def test_nothing_is_refused_while_another_server_may_give_back(limited: Namespace) -> None:
    """Such a quota is left by a server that is paused, or ends, after it has charged a group up to the limit."""
    limited.limit(hard={"secrets": "5"})
    _charge_as_a_group(limited, "q", "5")
    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(limited.create, f"s{server}", server, "secrets") for server in (0, 1)]
        answers = [job.result() for job in jobs]
    assert [answer.status for answer in answers] == [201, 201], answers
    until(lambda: limited.used() == {"secrets": "2"})


def _charge_as_a_group(limited: Namespace, name: str, secrets: str) -> None:
    """Writes the usage like another server's group."""
    key = f"/registry/resourcequotas/{limited.name}/{name}".encode()

    async def charge(client: EtcdClient) -> None:
        found = await client.get(key)
        assert found
        quota = json.loads(found.value)
        quota["status"]["used"] = {"secrets": secrets}
        await client.put(key, json.dumps(quota, separators=(",", ":")).encode() + new_mark() + MARK)

    on_etcd(limited.servers[0].etcd_endpoint, charge)


def test_a_quota_that_groups_have_charged_is_shown_as_any_other(limited: Namespace) -> None:
    """The marks of groups in etcd are in no representation, and a write that changes nothing stays without effect."""
    limited.limit(hard={"secrets": "100"})
    before = limited.ask("GET", "resourcequotas").json["metadata"]["resourceVersion"]
    with ThreadPoolExecutor(CLIENTS) as pool:
        jobs = [pool.submit(limited.create, f"s{i}", 0, "secrets") for i in range(60)]
        assert {job.result().status for job in jobs} == {201}
    until(lambda: limited.used() == {"secrets": "60"})
    for server in (0, 1):
        path = f"{limited.path}/resourcequotas"
        with watching(limited.servers[server], path, f"timeoutSeconds=60&resourceVersion={before}") as stream:
            used = ""
            while used != "60":
                event = stream.readline().removesuffix(b"\n")
                assert _is_compact(event)
                used = json.loads(event)["object"]["status"]["used"]["secrets"]
        until(lambda server=server: _is_left_alone(limited, server))  # by the controller, which may still recount it
        assert _is_compact(limited.ask("GET", "resourcequotas", server=server).body[:-1])


def _is_left_alone(limited: Namespace, server: int) -> bool:
    """Whether writes that change nothing return the stored quota, and leave it unchanged in etcd."""
    one = limited.ask("GET", "resourcequotas/q", server=server).body
    assert _is_compact(one[:-1])
    patched = limited.ask("PATCH", "resourcequotas/q", {"metadata": {}}, server, headers=MERGE).body
    put = limited.ask("PUT", "resourcequotas/q", json.loads(one), server).body
    return patched == put == one == limited.ask("GET", "resourcequotas/q", server=server).body


def _is_compact(body: bytes) -> bool:
    return body == json.dumps(json.loads(body), separators=(",", ":"), ensure_ascii=False).encode()


def test_a_crash_among_many_writes_ends_with_what_there_is() -> None:
    with EmbeddedEtcd() as etcd, api_server(*FLAGS, etcd_servers=etcd.endpoint) as one:
        replicas = Replicas(etcd, one)
        try:
            limited = Namespace((one, replicas.other))
            limited.limit(hard={"secrets": "2500"})
            _crash_among_writes(limited, replicas)
            until(lambda: limited.used() == {"secrets": str(limited.count("secrets"))}, ELECTED)
        finally:
            replicas.close()


def _crash_among_writes(limited: Namespace, replicas: Replicas) -> None:
    enough, made = threading.Event(), []

    def create() -> None:
        for _ in range(1000):
            try:
                body = {"metadata": {"name": uuid.uuid4().hex}}
                answer = ask(replicas.other, "POST", f"/api/v1/namespaces/{limited.name}/secrets", body)
            except (OSError, HTTPException):
                return
            assert answer.status == 201
            made.append(body)
            if len(made) > 2 * CLIENTS:
                enough.set()

    threads = [threading.Thread(target=create) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    assert enough.wait(120)
    replicas.kill()
    for thread in threads:
        thread.join()
    limited.servers = (limited.servers[0], replicas.other)
    assert limited.count("secrets") >= len(made)
