"""Too many requests at once, on a real server: a request whose body has not arrived yet holds its seat."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer
from tests.forked import api_server
from tests.hostile.wire import Wire
from tests.integration.server.client import ask, connect
from tests.until import until

GROUP = "/apis/flowcontrol.apiserver.k8s.io/v1"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
BODY = b'{"metadata": {"name": "slow"}}'
SCHEMA_HEADER = "x-kubernetes-pf-flowschema-uid"
TEXT = b"Too many requests, please try again later.\n"
EVERYTHING = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"], "clusterScope": True}


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    path = tmp_path / "tokens.csv"
    path.write_text("bob-token,bob,2,writers\nann-token,ann,3,writers\n")
    return path


def may_do_everything(server: ApiServer, *users: str) -> None:
    binding = {
        "metadata": {"name": "everything"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name} for name in users],
    }
    assert ask(server, "POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding).status == 201


@contextmanager
def slow_write(server: ApiServer, token: str) -> Iterator[None]:
    """A write that has not ended while the block runs."""
    with Wire(server) as wire:
        headers = (f"Authorization: Bearer {token}", "Content-Type: application/json", "Expect: 100-continue")
        wire.request(f"POST {CONFIG_MAPS}?dryRun=All", *headers, f"Content-Length: {len(BODY)}", token=False)
        assert wire.socket.recv(1000).startswith(b"HTTP/1.1 100")  # the verb has begun
        yield
        wire.send(BODY)
        assert wire.reply().status == 201


def jail(server: ApiServer, response: dict[str, Any]) -> None:
    """A priority level with one seat, for bob's writes."""
    limited = {"nominalConcurrencyShares": 1, "lendablePercent": 0, "borrowingLimitPercent": 0}
    spec = {"type": "Limited", "limited": {**limited, "limitResponse": response}}
    level = {"metadata": {"name": "jail"}, "spec": spec}
    assert ask(server, "POST", f"{GROUP}/prioritylevelconfigurations", level).status == 201
    rule = {"subjects": [{"kind": "User", "user": {"name": "bob"}}], "resourceRules": [EVERYTHING]}
    spec = {"priorityLevelConfiguration": {"name": "jail"}, "matchingPrecedence": 7, "rules": [rule]}
    made = ask(server, "POST", f"{GROUP}/flowschemas", {"metadata": {"name": "bobs"}, "spec": spec})
    until(
        lambda: (
            ask(server, "GET", CONFIG_MAPS, token="bob-token").headers[SCHEMA_HEADER] == made.json["metadata"]["uid"]
        )
    )


def jailed(server: ApiServer) -> list[str]:
    """The numbers of waiting and of executing requests in that level."""
    debug = ask(server, "GET", "/debug/api_priority_and_fairness/dump_priority_levels").body.decode()
    row = next(line for line in debug.splitlines() if line.startswith("jail,"))
    return [cell.strip() for cell in row.split(",")][4:6]


def test_a_level_without_queues_refuses_and_leaves_others_alone(tokens: Path) -> None:
    with api_server(f"--token-auth-file={tokens}", "--max-requests-inflight=20") as server:
        may_do_everything(server, "bob", "ann")
        jail(server, {"type": "Reject"})
        with slow_write(server, "bob-token"):
            refused = ask(server, "GET", CONFIG_MAPS, token="bob-token")
            assert (refused.status, refused.body, refused.headers["retry-after"]) == (429, TEXT, "1")
            schema = ask(server, "GET", f"{GROUP}/flowschemas/bobs").json["metadata"]["uid"]
            assert refused.headers[SCHEMA_HEADER] == schema
            for token in ("ann-token", ""):
                assert ask(server, "GET", CONFIG_MAPS, token=token).status == 200
            assert jailed(server) == ["0", "1"]
        assert ask(server, "GET", CONFIG_MAPS, token="bob-token").status == 200
        metrics = ask(server, "GET", "/metrics").body.decode()
        labels = 'flow_schema="bobs",priority_level="jail",reason="concurrency-limit"'
        assert f"apiserver_flowcontrol_rejected_requests_total{{{labels}}} 1" in metrics


def test_a_level_with_queues_lets_wait(tokens: Path) -> None:
    with api_server(f"--token-auth-file={tokens}", "--max-requests-inflight=20") as server:
        may_do_everything(server, "bob")
        jail(server, {"type": "Queue", "queuing": {"queues": 1, "handSize": 1, "queueLengthLimit": 1}})
        with Wire(server) as waiting:
            with slow_write(server, "bob-token"):
                waiting.request(f"GET {CONFIG_MAPS}", "Authorization: Bearer bob-token", token=False)
                until(lambda: jailed(server) == ["1", "1"])
                assert not waiting.answers(0.2)
                assert ask(server, "GET", CONFIG_MAPS, token="bob-token").status == 429  # the queue is full
            waiting.socket.settimeout(60)
            assert waiting.reply().status == 200
        late = ask(server, "GET", f"{CONFIG_MAPS}?timeout=20s", token="bob-token")
        assert late.status == 200


def test_a_request_waits_no_longer_than_a_quarter_of_its_time(tokens: Path) -> None:
    with api_server(f"--token-auth-file={tokens}", "--max-requests-inflight=20") as server:
        may_do_everything(server, "bob")
        jail(server, {"type": "Queue", "queuing": {"queues": 1, "handSize": 1, "queueLengthLimit": 9}})
        with slow_write(server, "bob-token"):
            assert ask(server, "GET", f"{CONFIG_MAPS}?timeout=8s", token="bob-token").status == 429


def test_a_watch_gives_its_seat_back_once_it_runs(tokens: Path) -> None:
    with api_server(f"--token-auth-file={tokens}", "--max-watches-per-user=2") as server:
        may_do_everything(server, "bob")
        jail(server, {"type": "Reject"})
        watches = [connect(server) for _ in range(3)]
        statuses = []
        for each in watches:
            each.request("GET", f"{CONFIG_MAPS}?watch=1", headers={"Authorization": "Bearer bob-token"})
            statuses.append(each.getresponse().status)
        assert statuses == [200, 200, 429]  # the third exceeds the limit of one user
        assert ask(server, "GET", CONFIG_MAPS, token="bob-token").status == 200
        for each in watches:
            each.close()


def test_without_priority_and_fairness_reads_and_writes_have_a_limit_each(tokens: Path) -> None:
    flags = ("--enable-priority-and-fairness=false", "--max-requests-inflight=1", "--max-mutating-requests-inflight=1")
    with api_server(f"--token-auth-file={tokens}", *flags) as server:
        may_do_everything(server, "bob")
        with slow_write(server, "bob-token"):
            path = f"{CONFIG_MAPS}?dryRun=All"
            refused = ask(server, "POST", path, {"metadata": {"name": "a"}}, token="bob-token")
            assert (refused.status, refused.body, refused.headers["retry-after"]) == (429, TEXT, "1")
            assert ask(server, "GET", CONFIG_MAPS, token="bob-token").status == 200
            assert ask(server, "POST", path, {"metadata": {"name": "a"}}).status == 201  # an administrator
        assert SCHEMA_HEADER not in ask(server, "GET", CONFIG_MAPS).headers


def test_schemas_say_whether_their_level_is_there() -> None:
    with api_server() as server:
        spec = {"priorityLevelConfiguration": {"name": "later"}, "matchingPrecedence": 7}
        assert ask(server, "POST", f"{GROUP}/flowschemas", {"metadata": {"name": "a"}, "spec": spec}).status == 201
        assert _told(server, "True")["reason"] == "NotFound"
        level = {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}
        body = {"metadata": {"name": "later"}, "spec": level}
        assert ask(server, "POST", f"{GROUP}/prioritylevelconfigurations", body).status == 201
        message = 'This FlowSchema references the PriorityLevelConfiguration object named "later" and it exists'
        assert _told(server, "False")["message"] == message


def _told(server: ApiServer, status: str) -> dict[str, Any]:
    """The condition Dangling of the flow schema, once it has a status."""
    connection = connect(server)
    query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    path = f"{GROUP}/flowschemas?{query}&fieldSelector=metadata.name%3Da"
    connection.request("GET", path, headers={"Authorization": f"Bearer {server.token}"})
    response = connection.getresponse()
    try:
        while True:
            event = json.loads(response.readline())
            for condition in (event["object"].get("status") or {}).get("conditions") or ():
                if condition["status"] == status:
                    return dict(condition)
    finally:
        connection.close()
