"""/metrics on a real server: kube-apiserver's names and labels, summed over all workers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families

from apiserver_gateway.testing import ApiServer, api_server
from gateway.release.minors import DEFAULT, GIT_VERSIONS
from tests.hasty import hasty
from tests.integration.server.client import ask
from tests.integration.testing.watching import watching
from tests.until import until

MAPS = "/api/v1/namespaces/default/configmaps"
LABELS = {
    "group": "",
    "version": "v1",
    "resource": "configmaps",
    "subresource": "",
    "component": "apiserver",
    "dry_run": "",
}


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    with api_server("--controllers=*,-root-ca-cert-publisher") as made:  # it would create ConfigMaps meanwhile
        until(lambda: ask(made, "GET", "/readyz").status == 200)  # the default roles exist
        yield made


def value(server: ApiServer, metric: str, path: str = "/metrics", **labels: str) -> float:
    """The sum of the samples with this name and these labels; the parser adds _total to counters that lack it."""
    text = ask(server, "GET", path).body.decode()
    return sum(
        sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == metric and labels.items() <= sample.labels.items()
    )


@pytest.mark.parametrize(
    ("method", "path", "body", "counted"),
    [
        ("POST", MAPS, {"metadata": {"generateName": "a"}}, {"verb": "POST", "scope": "resource", "code": "201"}),
        ("GET", f"{MAPS}/a", None, {"verb": "GET", "scope": "resource", "code": "200"}),
        ("GET", f"{MAPS}/absent", None, {"verb": "GET", "scope": "resource", "code": "404"}),
        ("GET", MAPS, None, {"verb": "LIST", "scope": "namespace", "code": "200"}),
        ("GET", "/api/v1/configmaps", None, {"verb": "LIST", "scope": "cluster", "code": "200"}),
        ("PUT", f"{MAPS}/a", {"metadata": {"name": "a"}}, {"verb": "PUT", "scope": "resource", "code": "200"}),
        ("GET", f"{MAPS}?watch=1&timeoutSeconds=1", None, {"verb": "WATCH", "scope": "namespace", "code": "200"}),
        ("DELETE", f"{MAPS}/a?dryRun=All", None, {"verb": "DELETE", "dry_run": "All", "code": "200"}),
        ("DELETE", MAPS, None, {"verb": "DELETE", "scope": "namespace", "code": "200"}),
    ],
)
def test_requests_are_counted_by_kube_apiservers_labels(
    server: ApiServer, method: str, path: str, body: object, counted: dict[str, str]
) -> None:
    ask(server, "POST", MAPS, {"metadata": {"name": "a"}})  # unless it is there
    labels = LABELS | counted
    timed = {key: label for key, label in labels.items() if key != "code"}
    before = value(server, "apiserver_request_total", **labels)
    seconds = value(server, "apiserver_request_duration_seconds_count", **timed)
    assert ask(server, method, path, body).status == int(counted["code"])
    assert value(server, "apiserver_request_total", **labels) == before + 1
    assert value(server, "apiserver_request_duration_seconds_count", **timed) == seconds + 1


def test_who_asks_and_what_is_allowed_is_counted(server: ApiServer) -> None:
    names = (
        ("authentication_attempts_total", {"result": "success"}),
        ("authorization_attempts_total", {"result": "allowed"}),
    )
    before = [value(server, name, **labels) for name, labels in names]
    assert all(value(server, name, **labels) > old for (name, labels), old in zip(names, before, strict=True))
    failed = value(server, "authentication_attempts_total", result="error")
    assert ask(server, "GET", MAPS, token="wrong").status == 401
    assert value(server, "authentication_attempts_total", result="error") == failed + 1


def test_objects_and_the_process_are_told(server: ApiServer) -> None:
    assert value(server, "apiserver_resource_objects", group="", resource="namespaces") >= 4
    assert value(server, "process_resident_memory_bytes") > 10_000_000
    assert value(server, "kubernetes_build_info", git_version=GIT_VERSIONS[DEFAULT]) == 1
    started = float(ask(server, "GET", "/metrics").headers["process-start-time-unix"])
    assert abs(value(server, "process_start_time_seconds") - started) <= 1


def test_what_etcd_and_watches_do_is_told(server: ApiServer) -> None:
    calls = {"operation": "create", "resource": "configmaps"}
    before = value(server, "etcd_requests_total", **calls)
    version = ask(server, "GET", MAPS).json["metadata"]["resourceVersion"]
    for name in ("b", "c"):
        assert ask(server, "POST", MAPS, {"metadata": {"name": name}}).status == 201
    assert value(server, "etcd_requests_total", **calls) == before + 2
    assert value(server, "etcd_request_duration_seconds_count", **calls) == before + 2
    watched = {"group": "", "version": "v1", "resource": "configmaps"}
    sent = value(server, "apiserver_watch_events_total", **watched)
    with watching(server, MAPS, f"resourceVersion={version}") as events:
        assert [events.name(), events.name()] == [("ADDED", "b"), ("ADDED", "c")]
    assert value(server, "apiserver_watch_events_total", **watched) == sent + 2
    assert value(server, "apiserver_watch_events_sizes_count", **watched) == sent + 2
    assert value(server, "apiserver_storage_events_received_total", resource="configmaps") >= 2


def test_health_checks_have_a_page_of_their_own(server: ApiServer) -> None:
    until(lambda: ask(server, "GET", "/readyz").status == 200)
    assert value(server, "kubernetes_healthcheck", "/metrics/slis", name="etcd", type="readyz") == 1
    assert value(server, "process_open_fds", "/metrics/slis") == 0


def test_one_scrape_shows_all_workers() -> None:
    with hasty({"gateway.observability.siblings._ANSWER_TIMEOUT": 60.0}, "--workers=2") as server:
        for _ in range(24):  # each on a new connection; the kernel spreads them over the workers
            assert ask(server, "GET", f"{MAPS}/absent").status == 404
        counted = [value(server, "apiserver_request_total", resource="configmaps", code="404") for _ in range(6)]
        assert counted == [24] * 6
