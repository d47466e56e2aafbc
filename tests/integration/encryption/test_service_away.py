"""A KMS plug-in hangs: values that need it cannot be read meanwhile; all other requests work.

Reads of such values wait until it answers, watches stay open, and no event is skipped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPResponse
from pathlib import Path

from apiserver_gateway.testing import ApiServer
from gateway.requests.unread import MOST_EACH
from storage.embedded import EmbeddedEtcd
from tests.forked import api_server
from tests.integration.encryption.etcd import IDENTITY, configured, kms
from tests.integration.encryption.kms_process import Kms
from tests.integration.server.client import ask, connect
from tests.until import until

SECRETS = "/api/v1/namespaces/default/secrets"
MAPS = "/api/v1/namespaces/default/configmaps"
MERGE = {"Content-Type": "application/merge-patch+json"}
OF_TWO = {"metadata": {"name": "of-two", "labels": {"of": "two"}}}


def listed(server: ApiServer, path: str) -> list[str]:
    return [each["metadata"]["name"] for each in ask(server, "GET", path).json.get("items", ())]


@contextmanager
def watching(server: ApiServer, query: str, path: str = SECRETS) -> Iterator[HTTPResponse]:
    with closing(connect(server)) as connection:
        url = f"{path}?watch=1&timeoutSeconds=600&{query}"
        connection.request("GET", url, headers={"Authorization": f"Bearer {server.token}"})
        yield connection.getresponse()


def told(watch: HTTPResponse) -> tuple[str, str]:
    event = json.loads(watch.readline())
    return event["type"], event["object"]["metadata"].get("name", "")


@contextmanager
def hanging(directory: Path, plugin: Kms, *flags: str) -> Iterator[tuple[ApiServer, str]]:
    """A server that cannot decrypt the value that another server has written, nor the version before it."""
    provider = kms("mock", plugin.socket)
    provider["kms"]["timeout"] = "1s"
    config = configured(directory / "e.json", provider, IDENTITY)
    flags = "--controllers=-*", f"--encryption-provider-config={config}", *flags
    with EmbeddedEtcd() as etcd, api_server(*flags, etcd_servers=etcd.endpoint) as one:
        until(lambda: ask(one, "POST", SECRETS, {"metadata": {"name": "first"}}).status == 201)
        before = ask(one, "GET", SECRETS).json["metadata"]["resourceVersion"]
        with api_server(*flags, etcd_servers=etcd.endpoint) as two:  # with its own seed
            until(lambda: ask(two, "GET", "/readyz/kms-provider-0").status == 200)  # it has it, by the second call too
            plugin.tell(key="one", delay=3600)
            for path in (SECRETS, MAPS):
                assert ask(two, "POST", path, OF_TWO).status == 201
            until(lambda: "of-two" in listed(one, MAPS))  # after the secret, in the same feed
        yield one, before


def test_reads_wait_all_else_goes_on_and_no_event_is_skipped(tmp_path: Path, plugin: Kms) -> None:
    with hanging(tmp_path, plugin) as (one, before), ExitStack() as opened, ThreadPoolExecutor() as threads:
        assert ask(one, "GET", "/readyz").status == 500
        assert b"failed to decrypt DEK" in ask(one, "GET", "/readyz/kms-provider-0").body
        until(lambda: "kms plugin does not answer provider=mock" in one.log_file.read_text())
        maps = opened.enter_context(watching(one, f"resourceVersion={before}", MAPS))
        assert told(maps) == ("ADDED", "of-two")
        for path in (SECRETS, f"{SECRETS}/of-two", f"{SECRETS}?labelSelector=of%3Dtwo"):
            query = f"{path}{'&' if '?' in path else '?'}timeout=300ms"
            until(lambda query=query: "failed to decrypt DEK" in late(one, query))  # or it had no time at all
        assert ask(one, "GET", f"{SECRETS}/first").status == 200  # another key has encrypted it
        assert ask(one, "GET", "/api/v1/namespaces/kube-system/secrets").status == 200
        refused = ask(one, "PATCH", f"{SECRETS}/of-two", {"metadata": {}}, headers=MERGE)
        assert refused.status == 500 and "failed to decrypt DEK" in refused.json["message"]
        queries = (
            f"resourceVersion={before}",
            f"resourceVersion={before}&labelSelector=of%3Dtwo",
            "labelSelector=of%3Dtwo",
        )
        watches = [opened.enter_context(watching(one, query)) for query in queries]
        reads = [threads.submit(ask, one, "GET", path) for path in (SECRETS, f"{SECRETS}/of-two")]
        until(lambda: waiting(one) == len(reads))
        assert ask(one, "POST", SECRETS, {"metadata": {"name": "later", "labels": {"of": "two"}}}).status == 201
        assert ask(one, "POST", MAPS, {"metadata": {"name": "later"}}).status == 201
        assert told(maps) == ("ADDED", "later")
        plugin.tell(key="one")
        listing, found = (read.result() for read in reads)
        assert [each["metadata"]["name"] for each in listing.json["items"]] == ["first", "later", "of-two"]
        assert found.json["metadata"]["name"] == "of-two"
        assert [told(watches[0]), told(watches[0])] == [("ADDED", "of-two"), ("ADDED", "later")]
        assert [told(watches[1]), told(watches[1])] == [("ADDED", "of-two"), ("ADDED", "later")]
        assert {told(watches[2]), told(watches[2])} == {("ADDED", "of-two"), ("ADDED", "later")}
        until(lambda: ask(one, "GET", "/readyz").status == 200)
        assert ask(one, "DELETE", f"{SECRETS}/of-two").status == 200
        assert [told(watch) for watch in watches] == [("DELETED", "of-two")] * 3
        assert ask(one, "POST", MAPS, {"metadata": {"name": "last"}}).status == 201
        assert told(maps) == ("ADDED", "last")  # and its watch has not ended
        said = "values that could not be decrypted before can be read now number=1"
        until(lambda: said in one.log_file.read_text())


def late(server: ApiServer, path: str) -> str:
    """The message of a read that was not answered in time."""
    answer = ask(server, "GET", path)
    assert (answer.status, answer.json["reason"]) == (504, "Timeout")
    assert "within the allotted timeout" in answer.json["message"]
    return str(answer.json["message"])


def waiting(server: ApiServer) -> int:
    """The number of requests being served, without the one for the metrics."""
    lines = ask(server, "GET", "/metrics").body.decode().splitlines()
    [count] = [
        line for line in lines if line.startswith('apiserver_current_inflight_requests{request_kind="readOnly"}')
    ]
    return int(float(count.rpartition(" ")[2]))


def test_a_start_ends(tmp_path: Path, plugin: Kms) -> None:
    provider = kms("mock", plugin.socket)
    provider["kms"]["timeout"] = "1s"
    flags = "--controllers=-*", f"--encryption-provider-config={configured(tmp_path / 'e.json', provider)}"
    with EmbeddedEtcd() as etcd:
        with api_server(*flags, etcd_servers=etcd.endpoint) as one:
            for path in (SECRETS, MAPS):
                until(lambda path=path: ask(one, "POST", path, OF_TWO).status == 201)
        plugin.tell(key="one", delay=3600)
        with api_server(*flags, etcd_servers=etcd.endpoint) as two, ThreadPoolExecutor() as threads:
            assert "of-two" in listed(two, MAPS)
            with watching(two, "") as watch:
                reading = threads.submit(listed, two, SECRETS)
                plugin.tell(key="one")
                assert reading.result() == ["of-two"]
                assert told(watch) == ("ADDED", "of-two")


def test_those_who_wait_hold_no_seats_and_are_bounded(tmp_path: Path, plugin: Kms) -> None:
    tokens = tmp_path / "tokens.csv"
    tokens.write_text("alices-token,alice,alice\n")
    flags = "--enable-priority-and-fairness=false", "--max-requests-inflight=2", f"--token-auth-file={tokens}"
    with hanging(tmp_path, plugin, *flags, "--authorization-mode=AlwaysAllow") as (one, _), ExitStack() as opened:
        for _ in range(MOST_EACH):
            connection = opened.enter_context(closing(connect(one)))
            connection.request("GET", SECRETS, headers={"Authorization": f"Bearer {one.token}"})
        until(lambda: ask(one, "GET", f"{SECRETS}?timeout=100ms").status == 429)
        refused = ask(one, "GET", SECRETS)
        assert refused.status == 429 and refused.headers["retry-after"] == "1"
        assert "too many requests wait until it can be read" in refused.json["message"]
        for path, status in ((MAPS, 200), (f"{SECRETS}/first", 200), (f"{SECRETS}?timeout=100ms", 504)):
            assert ask(one, "GET", path, token="alices-token").status == status
        plugin.tell(key="one")  # the server's end waits for the requests under way
