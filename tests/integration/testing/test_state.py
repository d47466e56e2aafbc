"""A throw-away server in tests: snapshots and restores of its state, users, and time that is set forward."""

from __future__ import annotations

import json
import ssl
import urllib.request
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from typing import Any

import pytest

from apiserver_gateway.testing import (
    ApiServer,
    Refused,
    advance_clock,
    api_server,
    ask,
    install,
    namespace,
    restore,
    restored,
    snapshot,
    user,
)
from tests.integration.customresources.definitions import definition, version
from tests.integration.server.test_processes import cpu_seconds
from tests.limits import at_most_cpu, least

MAPS = "/api/v1/namespaces/default/configmaps"


def config_map(name: str, value: str = "") -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": {"value": value}}


def events(api: ApiServer, path: str, since: str, count: int) -> Iterator[tuple[str, str]]:
    """Types and names of the next events after a resourceVersion."""
    request = urllib.request.Request(f"{api.url}{path}?watch=1&resourceVersion={since}&timeoutSeconds=60")
    request.add_header("Authorization", f"Bearer {api.token}")
    context = ssl.create_default_context(cafile=str(api.ca_file))
    with urllib.request.urlopen(request, timeout=70, context=context) as lines:
        for _, line in zip(range(count), lines, strict=False):
            event = json.loads(line)
            yield event["type"], event["object"]["metadata"]["name"]


def test_what_changed_is_as_it_was_and_watches_see_it(api: ApiServer) -> None:
    kept = ask(api, "POST", MAPS, config_map("kept", "1"))
    untouched = ask(api, "POST", MAPS, config_map("untouched"))
    before = snapshot(api)
    ask(api, "PUT", f"{MAPS}/kept", config_map("kept", "2"))
    ask(api, "POST", MAPS, config_map("new"))
    since = ask(api, "GET", MAPS)["metadata"]["resourceVersion"]
    restore(api, before)
    assert set(events(api, MAPS, since, 2)) == {("MODIFIED", "kept"), ("DELETED", "new")}
    again = ask(api, "GET", f"{MAPS}/kept")
    assert again["data"] == {"value": "1"} and again["metadata"]["uid"] == kept["metadata"]["uid"]
    same = ask(api, "GET", f"{MAPS}/untouched")["metadata"]["resourceVersion"]
    assert same == untouched["metadata"]["resourceVersion"]
    with pytest.raises(Refused, match="not found"):
        ask(api, "GET", f"{MAPS}/new")


def test_namespaces_and_definitions_come_back(api: ApiServer) -> None:
    kind = definition("snapshots.example.com", version(), plural="things")
    with namespace(api) as name:
        install(api, kind)
        things = f"/apis/snapshots.example.com/v1/namespaces/{name}/things"
        ask(api, "POST", things, {"apiVersion": "snapshots.example.com/v1", "kind": "Thing", "metadata": {"name": "a"}})
        with restored(api):
            ask(api, "DELETE", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{kind['metadata']['name']}")
            ask(api, "DELETE", f"/api/v1/namespaces/{name}")
        assert ask(api, "GET", f"{things}/a")["metadata"]["name"] == "a"
        assert "deletionTimestamp" not in ask(api, "GET", f"/api/v1/namespaces/{name}")["metadata"]


def test_a_kind_that_is_restored_is_served_at_once_with_its_objects(api: ApiServer) -> None:
    """Also while its CRD is still being cleaned up, or right after."""
    kind = definition("returning.example.com", version(), plural="comets")
    install(api, kind)
    comets = "/apis/returning.example.com/v1/namespaces/default/comets"
    for number in range(50):
        body = {"apiVersion": "returning.example.com/v1", "kind": "Comet", "metadata": {"name": f"comet-{number}"}}
        ask(api, "POST", comets, body)
    before = snapshot(api)
    for _ in range(10):
        ask(api, "DELETE", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{kind['metadata']['name']}")
        restore(api, before)
        assert len(ask(api, "GET", comets)["items"]) == 50
    restore(api, before)
    assert len(ask(api, "GET", comets)["items"]) == 50


def test_what_is_owned_is_not_collected_on_the_way_back(api: ApiServer) -> None:
    """Owner and dependents are restored together, so that the garbage collector never sees one without the other."""
    owner = ask(api, "POST", MAPS, config_map("owner"))
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    for number in range(5):
        ask(api, "POST", MAPS, {"metadata": {"name": f"owned-{number}", "ownerReferences": [reference]}})
    before = snapshot(api)
    ask(api, "DELETE", f"{MAPS}/owner")
    restore(api, before)
    ask(api, "POST", MAPS, {"metadata": {"name": "last", "ownerReferences": [{**reference, "uid": "none"}]}})
    wait_for_absence(api, f"{MAPS}/last")  # the garbage collector has examined all earlier changes
    assert len([each for each in ask(api, "GET", MAPS)["items"] if "owned-" in each["metadata"]["name"]]) == 5


def wait_for_absence(api: ApiServer, path: str) -> None:
    collection, _, name = path.rpartition("/")
    listed = ask(api, "GET", collection)
    if name in {each["metadata"]["name"] for each in listed["items"]}:
        since = listed["metadata"]["resourceVersion"]
        assert ("DELETED", name) in events(api, collection, since, 1000)


def test_a_thousand_objects_are_kept_and_restored_at_once(api: ApiServer) -> None:
    """In the server's CPU time; on an idle machine the real time is hardly longer."""
    with namespace(api) as name:
        path = f"/api/v1/namespaces/{name}/configmaps"
        for number in range(1000):
            ask_quickly(api, path, config_map(f"a-{number}", "x" * 500))
        snapshot(api)  # waits until controllers have examined all of them
        kept: list[Any] = []
        at_most_cpu(least(lambda: spent(api, lambda: kept.append(snapshot(api)))), 0.05)
        taken = []
        for each in kept:
            for number in range(20):
                ask(api, "DELETE", f"{path}/a-{number}")
            taken.append(spent(api, partial(restore, api, each)))
        at_most_cpu(min(taken), 0.05)
        since = ask(api, "GET", path)["metadata"]["resourceVersion"]
        ask(api, "DELETE", path)
        taken = [spent(api, partial(restore, api, kept[0]))]
        while min(taken) > 0.07 and len(taken) < len(kept):  # other work of the server only adds to the time
            ask(api, "DELETE", path)
            taken.append(spent(api, partial(restore, api, kept[0])))
        at_most_cpu(min(taken), 0.07)  # the clock of CPU time ticks every 0.01 s
        assert len(ask(api, "GET", path)["items"]) == 1001  # including the ConfigMap of the CA
        told = (kind for kind, what in events(api, path, since, 3000) if what.startswith("a-"))
        assert list(islice(told, 2000)) == ["DELETED"] * 1000 + ["ADDED"] * 1000


def spent(api: ApiServer, work: Callable[[], object]) -> float:
    """The CPU time that the server uses inside the block."""
    began = cpu_seconds(api.pid)
    work()
    return cpu_seconds(api.pid) - began


def ask_quickly(api: ApiServer, path: str, body: dict[str, Any]) -> None:
    connection = _connections.get(api.pid)
    if connection is None:
        from http.client import HTTPSConnection

        context = ssl.create_default_context(cafile=str(api.ca_file))
        connection = _connections[api.pid] = HTTPSConnection("127.0.0.1", api.port, context=context)
    headers = {"Authorization": f"Bearer {api.token}", "Content-Type": "application/json"}
    connection.request("POST", path, json.dumps(body), headers)
    answer = connection.getresponse()
    answer.read()
    assert answer.status == 201


_connections: dict[int, Any] = {}


def test_snapshots_are_refused_to_others_and_elsewhere(api: ApiServer) -> None:
    with pytest.raises(Refused, match="there is no snapshot none"):
        ask(api, "PUT", "/testing/snapshots/none")
    anybody = urllib.request.Request(f"{api.url}/testing/snapshots", method="POST")
    context = ssl.create_default_context(cafile=str(api.ca_file))
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(anybody, context=context)
    with api_server("--testing-api=false") as usual, pytest.raises(Refused, match="404"):
        ask(usual, "POST", "/testing/snapshots")


def test_users_may_do_what_they_were_given(api: ApiServer) -> None:
    alice = user(api, "alice", groups=["developers"], roles=["view"], namespace="default")
    bob = user(api, "bob", rules=[{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]}])

    def status(token: str, method: str, path: str, body: object = None) -> int:
        request = urllib.request.Request(
            api.url + path, method=method, data=json.dumps(body).encode() if body else None
        )
        request.add_header("Authorization", f"Bearer {token}")
        request.add_header("Content-Type", "application/json")
        try:
            context = ssl.create_default_context(cafile=str(api.ca_file))
            with urllib.request.urlopen(request, context=context) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code

    assert status(alice.token, "GET", MAPS) == 200
    assert status(alice.token, "GET", "/api/v1/namespaces/kube-system/configmaps") == 403
    assert status(alice.token, "POST", MAPS, config_map("alices")) == 403
    assert status(bob.token, "POST", MAPS, config_map("bobs")) == 201
    assert status(bob.token, "GET", MAPS) == 403
    review = {"spec": {"token": alice.token}}
    reviewed = ask(api, "POST", "/apis/authentication.k8s.io/v1/tokenreviews", review)["status"]["user"]
    assert reviewed["username"] == "alice" and "developers" in reviewed["groups"]
    assert json.loads(alice.kubeconfig.read_text())["users"][0]["user"]["token"] == alice.token


def test_time_passes_at_once(api: ApiServer) -> None:
    event = {
        "metadata": {"name": "e", "namespace": "default"},
        "involvedObject": {"namespace": "default"},
        "type": "Normal",
    }
    ask(api, "POST", "/api/v1/namespaces/default/events", event)
    finished = (datetime.now(UTC) + timedelta(seconds=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    jobs = "/apis/batch/v1/namespaces/default/jobs"
    job = {"metadata": {"name": "j"}, "spec": {"ttlSecondsAfterFinished": 600, "template": template}}
    made = ask(api, "POST", jobs, job)
    condition = {"type": "Failed", "status": "True", "lastTransitionTime": finished}
    target = {"type": "FailureTarget", "status": "True", "lastTransitionTime": finished}
    made["status"] = {"startTime": finished, "failed": 1, "conditions": [target, condition]}
    ask(api, "PUT", f"{jobs}/j/status", made)
    advance_clock(api, 700)
    wait_for_absence(api, f"{jobs}/j")
    assert ask(api, "GET", "/api/v1/namespaces/default/events/e")["metadata"]["name"] == "e"
    advance_clock(api, 3000)
    with pytest.raises(Refused, match="not found"):
        ask(api, "GET", "/api/v1/namespaces/default/events/e")
    with pytest.raises(Refused, match="forward"):
        advance_clock(api, -1)
