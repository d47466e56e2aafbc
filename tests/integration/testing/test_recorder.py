"""The flight recorder: who wrote what, why an object was deleted; bounded, and without the contents of secrets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer, Refused, ask, namespace, user, wait_for, webhook
from apiserver_gateway.testing.faults import conflict
from tests.integration.testing.test_frameworks import run_pytest
from tests.integration.testing.watching import watching
from tests.until import until

AGENT = "kubernetes-admin (apiserver-gateway-testing)"


@pytest.fixture
def space(api: ApiServer) -> Iterator[str]:
    """A namespace in which everything is recorded."""
    api.recorder.start()
    with namespace(api) as name:
        wait_for(api, f"/api/v1/namespaces/{name}/configmaps/kube-root-ca.crt", bool)
        yield name


def content(name: str, **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, **more}


def of(api: ApiServer, key: str, what: str = "change") -> list[Any]:
    return [each for each in api.recorder.events() if each["key"] == key and each["what"] == what]


def test_a_text_names_objects_that_somebody_has_touched(api: ApiServer, space: str) -> None:
    """The text of a failing test may contain words such as "view", which are also names of roles that controllers
    change.
    """
    path = f"/api/v1/namespaces/{space}/configmaps"
    since = api.recorder.start()
    gathered = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
    rule = {"apiGroups": ["example.org"], "resources": ["seen"], "verbs": ["get"]}
    role = {"metadata": {"name": "seen", "labels": gathered}, "rules": [rule]}
    ask(api, "POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", role)
    until(lambda: [each for each in of(api, "clusterroles.rbac.authorization.k8s.io/view") if each["n"] > since])
    ask(api, "POST", path, content("painting", data={"lines": "one\ntwo\nthree\n"}))
    ask(api, "PUT", f"{path}/painting", content("painting", data={"lines": "one\n2\nthree\n"}))
    told = api.recorder.story_of('user(api, "ada", roles=["view"]); ask(api, "GET", ".../painting")', since)
    assert "/painting: " in told and "clusterroles" not in told
    assert "-    two\n" in told and "+    2" in told and "three" not in told
    assert "clusterroles.rbac.authorization.k8s.io/view" in api.recorder.story_of("view", since)


def test_each_version_has_its_writer_and_each_request_its_answer(api: ApiServer, space: str) -> None:
    path, key = f"/api/v1/namespaces/{space}/configmaps", f"configmaps/{space}/a"
    alice = user(api, "alice", rules=[{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["update"]}])
    made = ask(api, "POST", path, content("a", data={"n": "0"}))
    ask(api, "PUT", f"{path}/a", content("a", data={"n": "1"}), token=alice.token)
    with pytest.raises(Refused), api.faults.add(verb="update", resource="configmaps", answer=conflict()):
        ask(api, "PUT", f"{path}/a", content("a"))
    first, second = of(api, key)
    assert (first["type"], first["writer"], first["object"]["data"]) == ("ADDED", AGENT, {"n": "0"})
    assert first["revision"] == int(made["metadata"]["resourceVersion"])
    assert (second["type"], second["writer"]) == ("MODIFIED", "alice (apiserver-gateway-testing)")
    requests = {each["n"]: each for each in api.recorder.events() if each["what"] == "request"}
    assert requests[second["by"]]["path"] == f"{path}/a" and requests[second["by"]]["status"] == 200
    refused = of(api, key, "request")[-1]
    assert (refused["status"], refused["faults"]) == (409, ["conflict"])
    assert refused["message"].startswith("Operation cannot be fulfilled")


def test_writers_are_told_apart_when_they_write_at_once(api: ApiServer, space: str) -> None:
    """A write may become visible while another one is handled: it is still attributed to its own writer."""
    from concurrent.futures import ThreadPoolExecutor

    path = f"/api/v1/namespaces/{space}/configmaps"
    users = [user(api, f"writer-{n}", roles=["cluster-admin"]) for n in range(6)]

    def write(number: int) -> None:
        for each in range(15):
            ask(api, "POST", path, content(f"w{number}-{each}"), token=users[number].token)

    with ThreadPoolExecutor(len(users)) as pool:
        list(pool.map(write, range(len(users))))
    for number in range(len(users)):
        for each in range(15):
            assert of(api, f"configmaps/{space}/w{number}-{each}")[0]["writer"].startswith(f"writer-{number} ")


def test_why_an_object_is_gone(api: ApiServer, space: str) -> None:
    path = f"/api/v1/namespaces/{space}/configmaps"
    owner = ask(api, "POST", path, content("owner"))
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    ask(api, "POST", path, {"metadata": {"name": "owned", "ownerReferences": [reference]}})
    ask(api, "POST", path, {"metadata": {"name": "held", "finalizers": ["example.org/held"]}})
    ask(api, "DELETE", f"{path}/owner")
    ask(api, "DELETE", f"{path}/held")
    ask(api, "PUT", f"{path}/held", {"metadata": {"name": "held"}})
    why = until(lambda: api.recorder.why_gone(f"configmaps/{space}/owned"))
    assert why[0].startswith("deleted by system:serviceaccount:kube-system:generic-garbage-collector")
    assert "its owner ConfigMap owner was deleted at revision" in why[1] and AGENT in why[1]
    why = api.recorder.why_gone(f"configmaps/{space}/held")
    assert why[0].startswith(f"deleted by {AGENT} (delete {path}/held)")
    assert why[1] == "waited for its finalizers: example.org/held"
    assert why[2].startswith(f"the last of what it waited for was removed by {AGENT} (update {path}/held)")
    assert api.recorder.why_gone(f"configmaps/{space}/never") == []


def test_webhooks_and_watches_have_their_part(api: ApiServer, space: str) -> None:
    path = f"/api/v1/namespaces/{space}/configmaps"
    with (
        watching(api, path) as events,
        webhook(api, lambda request: "no" if "b" in request["name"] else None, "configmaps"),
    ):
        ask(api, "POST", path, content("a"))
        with pytest.raises(Refused):
            ask(api, "POST", path, content("b"))
        while events.name()[1] != "a":
            pass
        asked = [each for each in of(api, f"configmaps/{space}", "request") if each["verb"] == "create"]
        assert [each["webhooks"][0]["refused"] for each in asked[-2:]] == [False, True]
        watch = next(each for each in reversed(of(api, f"configmaps/{space}", "request")) if "watch" in each)
        revision = of(api, f"configmaps/{space}/a")[0]["revision"]
        assert any(events and reached >= revision for _, reached, events in watch["watch"]["told"])


def test_what_secrets_hold_is_blanked(api: ApiServer, space: str, tmp_path: Path) -> None:
    applied = {"kubectl.kubernetes.io/last-applied-configuration": '{"stringData":{"password":"hunter2"}}'}
    secret = {"metadata": {"name": "s", "annotations": applied}, "stringData": {"password": "hunter2"}}
    ask(api, "POST", f"/api/v1/namespaces/{space}/secrets", secret)
    ask(api, "DELETE", f"/api/v1/namespaces/{space}/secrets/s")
    page = api.recorder.write(tmp_path / "page.html").read_text()
    assert "password" in page and "hunter2" not in page and "aHVudGVyMg==" not in page


def test_nobody_else_may_look(api: ApiServer) -> None:
    other = user(api, "eve", roles=["view"])
    for path in ("/debug/recorder", "/debug/recorder/events"):
        with pytest.raises(Refused, match="403"):
            ask(api, "GET", path, token=other.token)


def test_nothing_is_kept_once_it_is_stopped(api: ApiServer, space: str) -> None:
    api.recorder.stop()
    last = api.recorder.told()["last"]
    ask(api, "POST", f"/api/v1/namespaces/{space}/configmaps", content("unseen"))
    assert api.recorder.told(last)["events"] == []
    api.recorder.start()
    ask(api, "POST", f"/api/v1/namespaces/{space}/configmaps", content("seen"))
    assert of(api, f"configmaps/{space}/seen") and not of(api, f"configmaps/{space}/unseen")


FAILS = """
from apiserver_gateway.testing import ask

def test_it(kubernetes_api, kubernetes_namespace):
    path = f"/api/v1/namespaces/{kubernetes_namespace}/configmaps"
    ask(kubernetes_api, "POST", path, {"metadata": {"name": "painting"}, "data": {"colour": "blue"}})
    ask(kubernetes_api, "PUT", f"{path}/painting", {"metadata": {"name": "painting"}, "data": {"colour": "red"}})
    assert ask(kubernetes_api, "GET", f"{path}/painting")["data"]["colour"] == "blue"

def test_that(kubernetes_api):
    pass
"""


@pytest.mark.parametrize("named", ["told", ""])
def test_a_failing_test_is_told_of_in_the_terminal_and_on_a_page(tmp_path: Path, named: str) -> None:
    """The directory must be given with "=": later words on the command line are tests."""
    words = ("--api-report=told",) if named else ("--api-report", "test_it.py")
    outcome = run_pytest(tmp_path, FAILS, *words)
    assert outcome.returncode == 1, outcome.stdout
    for line in (
        "what happened on the API server",
        "painting: the last 2 of 2 events",
        "-  colour: blue",
        "+  colour: red",
    ):
        assert line in outcome.stdout
    assert f"by {AGENT}, update /api/v1/namespaces/test-" in outcome.stdout
    (page,) = (tmp_path / (named or "api-report")).glob("*.html")
    assert "painting" in page.read_text()
