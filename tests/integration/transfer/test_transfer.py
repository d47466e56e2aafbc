"""`export` from one server and `import` into another: objects are transferred as users wrote them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from apiserver_gateway.testing import ApiServer
from apiserver_gateway.testing.state import restored
from gateway.transfer import export
from gateway.transfer.belongings import METADATA
from gateway.transfer.cluster import RemoteCluster
from gateway.transfer.export import ExportSelection
from gateway.transfer.kubeconfig import find_place
from tests.forked import api_server
from tests.integration.server.client import ask
from tests.until import until

GROUP = "example.org"
RULE = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"odds.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": "odds", "singular": "odd", "kind": "Odd"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


def run(server: ApiServer, *words: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gateway", *words, f"--kubeconfig={server.kubeconfig}"]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture(scope="module")
def full() -> Iterator[ApiServer]:
    """A server with objects of many kinds in the namespace `shop`."""
    with api_server() as server:
        made = [
            ("/api/v1/namespaces", {"metadata": {"name": "shop", "labels": {"a": "b"}}}),
            ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION),
            *(
                ("/api/v1/namespaces/shop/configmaps", {"metadata": {"name": f"c{n}"}, "data": {"k": "1e3\nx"}})
                for n in range(5)
            ),
            (
                "/api/v1/namespaces/shop/services",
                {"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}], "selector": {"app": "web"}}},
            ),
            ("/api/v1/namespaces/shop/secrets", {"metadata": {"name": "s"}, "stringData": {"k": "v"}}),
            (
                "/apis/rbac.authorization.k8s.io/v1/clusterroles",
                {
                    "metadata": {"name": "shop:reader"},
                    "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
                },
            ),
        ]
        for path, body in made:
            answer = ask(server, "POST", path, body)
            assert answer.status == 201, answer.body
        until(lambda: ask(server, "GET", f"/apis/{GROUP}/v1/odds").status == 200)
        owner = ask(server, "GET", "/api/v1/namespaces/shop/configmaps/c0").json
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "c0", "uid": owner["metadata"]["uid"]}
        odd = {
            "apiVersion": f"{GROUP}/v1",
            "kind": "Odd",
            "metadata": {"name": "o", "ownerReferences": [reference]},
            "n": 3,
        }
        assert ask(server, "POST", f"/apis/{GROUP}/v1/namespaces/shop/odds", odd).status == 201
        yield server


@pytest.fixture(scope="module")
def other() -> Iterator[ApiServer]:
    with api_server() as server:
        yield server


@pytest.fixture
def empty(other: ApiServer) -> Iterator[ApiServer]:
    """A server with default objects only."""
    with restored(other):
        yield other


PATHS = (
    "/api/v1/namespaces/shop",
    "/api/v1/namespaces/shop/configmaps/c0",
    "/api/v1/namespaces/shop/configmaps/c4",
    "/api/v1/namespaces/shop/services/web",
    "/api/v1/namespaces/shop/secrets/s",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles/shop:reader",
    f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/odds.{GROUP}",
    f"/apis/{GROUP}/v1/namespaces/shop/odds/o",
)


def essence(server: ApiServer, path: str) -> Any:
    """An object without the fields that a server sets."""
    answer = ask(server, "GET", path)
    assert answer.status == 200, (path, answer.body)
    found = answer.json
    for name in (*METADATA, "ownerReferences"):
        found["metadata"].pop(name, None)
    found.pop("status", None)
    for name in ("clusterIP", "clusterIPs"):
        found.get("spec", {}).pop(name, None)
    return found


@pytest.mark.parametrize("place", ["all.yaml", "all.json", "directory/"])
def test_objects_come_over(full: ApiServer, empty: ApiServer, tmp_path: Path, place: str) -> None:
    path = f"{tmp_path}/{place}"
    outcome = run(full, "export", "-o", path)
    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stderr.endswith(f"objects written to {path.rstrip('/')}\n")
    outcome = run(empty, "import", path)
    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stderr.endswith(" objects applied\n")
    for each in PATHS:
        assert essence(empty, each) == essence(full, each)
    owner = ask(empty, "GET", "/api/v1/namespaces/shop/configmaps/c0").json["metadata"]["uid"]
    odd = ask(empty, "GET", f"/apis/{GROUP}/v1/namespaces/shop/odds/o").json
    assert odd["metadata"]["ownerReferences"][0]["uid"] == owner


def test_chosen_resources_and_namespaces(full: ApiServer) -> None:
    outcome = run(full, "export", "cm", "odds.example.org", "-n", "shop")
    found = list(yaml.safe_load_all(outcome.stdout))
    assert [(obj["kind"], obj["metadata"]["name"]) for obj in found] == [
        *(("ConfigMap", f"c{n}") for n in range(5)),
        ("Odd", "o"),
    ]
    assert all(not set(METADATA) & set(obj["metadata"]) for obj in found)
    whole = list(yaml.safe_load_all(run(full, "export", "-n", "shop").stdout))
    assert {obj["kind"] for obj in whole} == {"Namespace", "ConfigMap", "Secret", "Service", "Odd"}
    unknown = run(full, "export", "nonsense")
    assert (unknown.returncode, unknown.stderr) == (
        1,
        "apiserver-gateway: the server has no resource 'nonsense' that can be listed\n",
    )


async def test_lists_are_read_by_pages(full: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    class Names(list[str]):
        def put(self, resource: str, obj: dict[str, Any]) -> None:
            self.append(obj["metadata"]["name"])

    asked: list[str] = []
    monkeypatch.setattr(export, "PAGE", 2)
    cluster = RemoteCluster(find_place(full.kubeconfig, "", {}))
    through = cluster.ask

    async def ask_and_note(method: str, path: str) -> Any:
        asked.append(path)
        return await through(method, path)

    cluster.ask = ask_and_note  # type: ignore[method-assign,assignment]
    names = Names()
    await export.export(cluster, ExportSelection(["configmaps"], ["shop"]), names, lambda what, done, of: None)
    cluster.close()
    assert names == [f"c{n}" for n in range(5)]
    assert len([path for path in asked if "configmaps?limit=2" in path]) == 3


def test_what_could_not_be_made_is_said_at_the_end(full: ApiServer, empty: ApiServer, tmp_path: Path) -> None:
    good = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "good", "namespace": "default"}}
    bad = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "NOT/good", "namespace": "default"}}
    nowhere = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "nowhere"}}
    unserved = {"apiVersion": "nothing.example.org/v1", "kind": "Nothing", "metadata": {"name": "x"}}
    (path := tmp_path / "some.json").write_text("\n".join(map(json.dumps, (unserved, bad, nowhere, good))))
    outcome = run(empty, "import", str(path))
    *problems, done = outcome.stderr.splitlines()
    assert outcome.returncode == 1 and done == "1 objects applied" and len(problems) == 3
    assert f"apiserver-gateway: {path}: Nothing x: the server has no Nothing of nothing.example.org/v1" in problems
    assert any("ConfigMap nowhere/x: 404 NotFound: namespaces" in line for line in problems)
    again = run(empty, "import", "--create", "-", stdin=json.dumps(good))
    assert again.returncode == 1 and "409 AlreadyExists" in again.stderr


@pytest.mark.parametrize("how", [[], ["--create"]])
def test_owners_come_over_in_whatever_order(empty: ApiServer, tmp_path: Path, how: list[str]) -> None:
    """A ConfigMap is created before the custom object that owns it; owners' names may sort after those of their
    dependents.
    """

    def config_map(name: str, api_version: str = "", kind: str = "", owner: str = "") -> dict[str, Any]:
        reference = {"apiVersion": api_version, "kind": kind, "name": owner, "uid": "of-another-server"}
        metadata = {"name": name, "namespace": "default", "ownerReferences": [reference] if owner else []}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}

    odd = {"apiVersion": f"{GROUP}/v1", "kind": "Odd", "metadata": {"name": "o", "namespace": "default"}}
    objects = [
        DEFINITION,
        config_map("a", "v1", "ConfigMap", "b"),
        config_map("b", "v1", "ConfigMap", "c"),
        config_map("c", f"{GROUP}/v1", "Odd", "o"),
        config_map("d", "v1", "ConfigMap", "of-nobody-here"),
        odd,
    ]
    (path := tmp_path / "some.json").write_text("\n".join(map(json.dumps, objects)))
    outcome = run(empty, "import", *how, str(path))
    assert (outcome.returncode, outcome.stderr) == (0, f"6 objects {'created' if how else 'applied'}\n")
    maps = "/api/v1/namespaces/default/configmaps"
    paths = [f"{maps}/a", f"{maps}/b", f"{maps}/c", f"/apis/{GROUP}/v1/namespaces/default/odds/o"]
    found = [ask(empty, "GET", each).json["metadata"] for each in paths]
    for owned, owner in pairwise(found):
        assert [each["uid"] for each in owned["ownerReferences"]] == [owner["uid"]]
    assert "ownerReferences" not in ask(empty, "GET", f"{maps}/d").json["metadata"]


def test_a_namespace_that_ends_takes_what_is_in_it_along(empty: ApiServer) -> None:
    for path, body in (
        ("/api/v1/namespaces", {"metadata": {"name": "going"}}),
        ("/api/v1/namespaces/going/configmaps", {"metadata": {"name": "held", "finalizers": ["example.org/held"]}}),
    ):
        assert ask(empty, "POST", path, body).status == 201
    assert "going" in run(empty, "export").stdout
    assert ask(empty, "DELETE", "/api/v1/namespaces/going").status == 200
    assert "going" not in run(empty, "export").stdout
    held = "/api/v1/namespaces/going/configmaps/held"
    ask(empty, "PUT", held, {"metadata": {"name": "held"}})


def test_a_dry_run_writes_nothing(empty: ApiServer, tmp_path: Path) -> None:
    (path := tmp_path / "a.yaml").write_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: new}\n")
    outcome = run(empty, "import", "--dry-run", str(path))
    assert outcome.returncode == 0 and outcome.stderr == "1 objects would be applied\n"
    assert ask(empty, "GET", "/api/v1/namespaces/new").status == 404


def test_status_comes_over_when_asked_for(empty: ApiServer, tmp_path: Path) -> None:
    ready = {"conditions": [{"type": "Ready", "status": "True"}], "phase": "Running"}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {"containers": [{"name": "c", "image": "i"}], "serviceAccountName": "default"},
        "status": ready,
    }
    (path := tmp_path / "pod.json").write_text(json.dumps(pod))
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "default"}}
    (tmp_path / "account.json").write_text(json.dumps(account))
    outcome = run(empty, "import", "--status", str(tmp_path / "account.json"), str(path))
    assert outcome.returncode == 0, outcome.stderr
    assert ask(empty, "GET", "/api/v1/namespaces/default/pods/p").json["status"]["phase"] == "Running"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["import", "/none"], "cannot read /none: No such file or directory"),
        (["export", "--context=other"], "it has no context 'other'"),
        (["export", "-o", "/no/such.yaml"], "cannot write /no/such.yaml: No such file or directory"),
    ],
)
def test_failures_are_one_line(full: ApiServer, words: list[str], said: str) -> None:
    outcome = run(full, *words)
    (line,) = outcome.stderr.splitlines()
    assert outcome.returncode == 1 and line.startswith("apiserver-gateway: ") and said in line


def test_a_server_that_is_away(tmp_path: Path) -> None:
    config = {
        "current-context": "a",
        "clusters": [{"name": "a", "cluster": {"server": "http://127.0.0.1:1"}}],
        "contexts": [{"name": "a", "context": {"cluster": "a"}}],
    }
    (path := tmp_path / "config").write_text(json.dumps(config))
    command = [sys.executable, "-m", "gateway", "export", f"--kubeconfig={path}"]
    outcome = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert outcome.returncode == 1 and "http://127.0.0.1:1/: dial tcp 127.0.0.1:1: " in outcome.stderr
    assert len(outcome.stderr.splitlines()) == 1
