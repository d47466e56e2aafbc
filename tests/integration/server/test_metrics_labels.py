"""Label values of /metrics after a small workload: those that a kube-apiserver 1.37.2 had after the same one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from apiserver_gateway.testing import ApiServer, api_server
from tests.integration.server.client import ask
from tests.integration.testing.watching import watching
from tests.until import until

SPACE = "/api/v1/namespaces/default"
MAPS, SERVICES = f"{SPACE}/configmaps", f"{SPACE}/services"
POD = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
MERGE = {"Content-Type": "application/merge-patch+json"}
APPLY = {"Content-Type": "application/apply-patch+yaml"}
APPLIED = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}}
STRANGE = {"metadata": {"name": "s"}, "spec": {"clusterIP": "192.0.2.1", "ports": [{"port": 80}]}}
LIST = "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"


@pytest.fixture(scope="module")
def lines() -> Iterator[list[str]]:
    with api_server("--controllers=-*", "--disable-admission-plugins=ServiceAccount") as server:
        until(lambda: ask(server, "GET", "/readyz").status == 200)
        idle = ask(server, "GET", "/metrics").body.decode()
        assert "\napiserver_audit_event_total 0\n" in idle
        work(server)
        yield ask(server, "GET", "/metrics").body.decode().splitlines()


def work(server: ApiServer) -> None:
    for method, path, body, headers, status in (
        ("POST", MAPS, {"metadata": {"name": "a"}}, None, 201),
        ("PUT", f"{MAPS}/a?fieldValidation=Strict", {"metadata": {"name": "a"}}, None, 200),
        ("PATCH", f"{MAPS}/a", {"data": {"a": "b"}}, MERGE, 200),
        ("PATCH", f"{MAPS}/a?fieldManager=x", APPLIED, APPLY, 200),
        ("GET", MAPS, None, None, 200),
        ("GET", f"{MAPS}?fieldSelector=metadata.name=a", None, None, 200),
        ("GET", f"{MAPS}/a", None, {"Impersonate-User": "bob"}, 403),
        ("GET", f"{MAPS}/a", None, {"Impersonate-User": "bob", "Impersonate-Group": "system:masters"}, 200),
        ("POST", f"{SPACE}/pods", POD, None, 201),
        ("POST", SERVICES, STRANGE, None, 422),
        ("DELETE", f"{MAPS}/a", None, None, 200),
        ("DELETE", MAPS, None, None, 200),
    ):
        assert ask(server, method, path, body, headers=headers).status == status, (method, path)
    with watching(server, MAPS, LIST.removeprefix("?watch=1&")) as events:
        assert events.next()["type"] == "BOOKMARK"


@pytest.mark.parametrize(
    "line",
    [
        'apiserver_request_body_size_bytes_count{group="",resource="configmaps",verb="create"} 1',
        'apiserver_request_body_size_bytes_count{group="",resource="configmaps",verb="update"} 1',
        'apiserver_request_body_size_bytes_count{group="",resource="configmaps",verb="patch"} 2',
        'apiserver_request_body_size_bytes_count{group="",resource="configmaps",verb="delete"} 1',
        'apiserver_request_body_size_bytes_count{group="",resource="configmaps",verb="delete_collection"} 1',
        'apiserver_watch_cache_consistent_read_total{fallback="false",group="",resource="configmaps",success="true"} 3',
        'apiserver_request_total{code="200",component="apiserver",dry_run="",group="",resource="configmaps",'
        'scope="namespace",subresource="",verb="LIST",version="v1"} 2',
        'field_validation_request_duration_seconds_count{field_validation="Strict"} 1',
        'authorization_attempts_total{result="no-opinion"} 1',
        'apiserver_impersonation_attempts_total{decision="allowed",mode="user-info"} 1',
        'apiserver_impersonation_attempts_total{decision="allowed",mode="legacy"} 1',
        'apiserver_watch_list_duration_seconds_count{group="",resource="configmaps",scope="namespace",version="v1"} 1',
        'pod_security_exemptions_total{request_operation="create",resource="pod",subresource=""} 0',
        "apiserver_nodeport_repair_reconcile_errors_total 0",
        'workqueue_queue_duration_seconds_bucket{name="definitions",le="9.999999999999999e-05"}',
        'apiserver_impersonation_authorization_attempts_total{decision="allowed",mode="user-info"}',
    ],
)
def test_a_line_is_that_of_kube_apiserver(lines: list[str], line: str) -> None:
    name = line.partition("{")[0]
    assert any(each.startswith(line) for each in lines), [each for each in lines if each.startswith(name)]


@pytest.mark.parametrize(
    "absent",
    [
        'field_validation="Warn"',
        'authorization_attempts_total{result="denied"}',
        'authentication_attempts{result="failure"}',
        'cidr=""',
        'scope="resource",subresource="",verb="LIST"',
    ],
)
def test_labels_that_kube_apiserver_has_not_are_absent(lines: list[str], absent: str) -> None:
    assert not [line for line in lines if absent in line]


def test_each_request_of_a_user_is_counted(lines: list[str]) -> None:
    """Also those whose token is known without a look-up."""
    counted = [line for line in lines if line.startswith("authenticated_user_requests{")]
    attempts = next(line for line in lines if line.startswith('authentication_attempts{result="success"}'))
    assert sum(int(line.split()[-1]) for line in counted) == int(attempts.split()[-1])


def test_only_a_bearer_token_is_an_attempt_that_may_be_wrong() -> None:
    """Other credentials are none, as in kube-apiserver: neither an error nor a token that the cache lacks."""
    with api_server("--controllers=-*", "--anonymous-auth=false") as server:
        until(lambda: ask(server, "GET", "/readyz").status == 200)
        before = counted(server)
        for header in ("Basic eDp5", "Bearer ", "Bearer  x", "Bearer x"):
            assert ask(server, "GET", "/api", token=None, headers={"Authorization": header}).status == 401
        after = counted(server)
    assert [after[name] - before[name] for name in WRONG] == [1, 3, 1]


WRONG = (
    'authentication_attempts{result="error"}',
    'authentication_attempts{result="failure"}',
    'authentication_token_cache_request_total{status="miss"}',
)


def counted(server: ApiServer) -> dict[str, int]:
    found = [line.rsplit(" ", 1) for line in ask(server, "GET", "/metrics").body.decode().splitlines()]
    return dict.fromkeys(WRONG, 0) | {name: int(value) for name, value in found if name in WRONG}
