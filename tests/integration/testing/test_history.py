"""Objects are restored from files, and recorded changes are replayed."""

from __future__ import annotations

import base64
import json
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer, Refused, ask, load, save, wait_for
from apiserver_gateway.testing.history import ObservedChange, history, play, read_history, write_history
from apiserver_gateway.testing.pool import Pool
from apiserver_gateway.testing.requests import answer
from tests.limits import within

MAPS = "/api/v1/namespaces/default/configmaps"
SECRETS = "/api/v1/namespaces/default/secrets"
APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


@pytest.fixture(scope="module")
def two() -> Iterator[tuple[ApiServer, ApiServer]]:
    """Two servers whose controllers have created their objects: only the test creates ConfigMaps from now on."""
    with Pool() as pool, pool.server() as one, pool.server() as other:
        for each in (one, other):
            for namespace in ("default", "kube-node-lease", "kube-public", "kube-system"):
                wait_for(each, f"/api/v1/namespaces/{namespace}/configmaps/kube-root-ca.crt", bool)
        yield one, other


def test_objects_come_back_from_files_without_secrets(two: tuple[ApiServer, ApiServer], tmp_path: Path) -> None:
    one, other = two
    ask(one, "POST", MAPS, {"metadata": {"name": "kept"}, "data": {"colour": "red"}})
    hidden = {"token": base64.b64encode(b"hidden").decode()}
    ask(one, "POST", SECRETS, {"metadata": {"name": "plain", "annotations": {APPLIED: str(hidden)}}, "data": hidden})
    login = {".dockerconfigjson": base64.b64encode(b'{"auths": {"a": {"auth": "hidden"}}}').decode()}
    ask(one, "POST", SECRETS, {"metadata": {"name": "pull"}, "type": "kubernetes.io/dockerconfigjson", "data": login})
    save(one, tmp_path / "v1.0", "configmaps", "secrets", blank_secrets=True)
    written = "".join(path.read_text() for path in tmp_path.rglob("*.yaml"))
    assert hidden["token"] not in written and login[".dockerconfigjson"] not in written
    load(other, tmp_path / "v1.0")
    assert ask(other, "GET", f"{MAPS}/kept")["data"] == {"colour": "red"}
    assert ask(other, "GET", f"{SECRETS}/plain")["data"] == {"token": ""}
    assert list(ask(other, "GET", f"{SECRETS}/pull")["data"]) == [".dockerconfigjson"]


def test_files_that_are_no_objects_are_told_of(two: tuple[ApiServer, ApiServer], tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("kind: ConfigMap\n")
    with pytest.raises(Refused, match=r"a\.yaml"):
        load(two[0], tmp_path)


def test_watches_see_a_history_again(two: tuple[ApiServer, ApiServer], tmp_path: Path) -> None:
    one, other = two
    one.recorder.start()
    made = ask(one, "POST", MAPS, {"metadata": {"name": "moved"}})
    changed = ask(one, "PUT", f"{MAPS}/moved", {"metadata": {"name": "moved"}, "data": {"a": "b"}})
    ask(one, "DELETE", f"{MAPS}/moved")
    ask(one, "POST", SECRETS, {"metadata": {"name": "unseen"}, "stringData": {"token": "hidden"}})
    write_history(tmp_path / "history", history(one))
    changes = [each for each in read_history(tmp_path / "history") if each.resource in ("configmaps", "secrets")]
    assert "hidden" not in (tmp_path / "history").read_text()
    since = ask(other, "GET", MAPS)["metadata"]["resourceVersion"]
    play(other, changes, pace=math.inf)
    assert ask(other, "GET", f"{SECRETS}/unseen")["data"] == {"token": ""}
    told = watched(other, since, 3)
    assert [each["type"] for each in told] == ["ADDED", "MODIFIED", "DELETED"]
    assert [each["object"]["metadata"]["uid"] for each in told] == [made["metadata"]["uid"]] * 3
    assert [each["object"].get("data") for each in told] == [None, changed["data"], changed["data"]]


def watched(api: ApiServer, since: str, number: int) -> list[dict[str, Any]]:
    """The events of ConfigMaps from a resourceVersion on."""
    with answer(api, "GET", f"{MAPS}?watch=1&resourceVersion={since}") as told:
        return [json.loads(told.readline()) for _ in range(number)]


@pytest.mark.parametrize(("pace", "apart", "least"), [(1.0, 0.3, 0.6), (20_000.0, 300.0, 0.03), (math.inf, 300.0, 0.0)])
def test_the_pace_is_chosen(two: tuple[ApiServer, ApiServer], pace: float, apart: float, least: float) -> None:
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "paced", "namespace": "default"}}
    changes = [ObservedChange(at, "MODIFIED", "configmaps", obj) for at in (0.0, apart, 2 * apart)]
    with within(60.0):
        began = time.monotonic()
        play(two[0], changes, pace)
        taken = time.monotonic() - began
    assert least <= taken


def test_as_many_changes_as_there_are(two: tuple[ApiServer, ApiServer]) -> None:
    """More than fit into one transaction, of one object many times and of many objects."""
    api = two[0]

    def named(name: str, value: int) -> ObservedChange:
        obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}
        return ObservedChange(0.0, "ADDED", "configmaps", {**obj, "data": {"value": str(value)}})

    since = ask(api, "GET", MAPS)["metadata"]["resourceVersion"]
    play(
        api, [*(named("again", value) for value in range(30)), *(named(f"many-{value}", value) for value in range(400))]
    )
    values = [each["object"]["data"]["value"] for each in watched(api, since, 430)]
    assert values == [str(value) for value in (*range(30), *range(400))]


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"type": "ADDED", "resource": "configmaps", "object": {"apiVersion": "v1"}},
        {"type": "BOOKMARK", "resource": "configmaps", "object": {"apiVersion": "v1", "metadata": {"name": "a"}}},
        {"type": "ADDED", "resource": "things", "object": {"apiVersion": "example.org/v1", "metadata": {"name": "a"}}},
        {"type": "ADDED", "resource": "namespaces", "object": {"apiVersion": "v1", "metadata": {"name": "a/b"}}},
        {
            "type": "ADDED",
            "resource": "namespaces",
            "object": {"apiVersion": "v1", "metadata": {"name": "a"}, "spec": 5},
        },
    ],
)
def test_what_is_no_change_is_refused(two: tuple[ApiServer, ApiServer], change: object) -> None:
    with pytest.raises(Refused, match="400"):
        ask(two[0], "POST", "/testing/changes", {"changes": [change]})
