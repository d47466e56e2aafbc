"""The testing API makes control planes for tests in other languages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from apiserver_gateway import testing
from apiserver_gateway.testing import ApiServer
from tests.forked import api_server
from tests.integration.server.client import Answer
from tests.integration.server.client import ask as raw
from tests.until import until

CLUSTERS = "/testing/clusters"


@pytest.fixture(scope="module")
def tested() -> Iterator[ApiServer]:
    with api_server("--control-planes", "--testing-api") as running:
        yield running


def ask(server: ApiServer, method: str, path: str, body: Any = None, token: str = "") -> Answer:
    return raw(server, method, path, body, token=token)


def test_many_are_made_together_and_deleted(tested: ApiServer) -> None:
    with tested.clusters(3, version="1.36") as three:
        assert {testing.ask(each, "GET", "/version")["minor"] for each in three} == {"36"}
        assert len({each.url for each in three}) == 3
    for each in three:
        until(lambda each=each: ask(tested, "GET", f"/clusters/{each.name}/api").status == 404)


def test_it_makes_one_of_a_version(tested: ApiServer) -> None:
    made = ask(tested, "POST", CLUSTERS, {"version": "1.35"}).json
    assert ask(tested, "GET", f"/clusters/{made['name']}/version", token=made["token"]).json["minor"] == "35"
    assert ask(tested, "DELETE", f"{CLUSTERS}/{made['name']}").status == 200
    assert ask(tested, "POST", CLUSTERS, {"version": "1.1"}).status == 422


def test_it_answers_what_a_client_needs(tested: ApiServer) -> None:
    made = ask(tested, "POST", CLUSTERS).json
    assert made["name"].startswith("test-") and made["url"].endswith(f"/clusters/{made['name']}")
    found = yaml.safe_load(made["kubeconfig"])
    assert found["clusters"][0]["cluster"]["server"] == made["url"]
    assert found["users"][0]["user"]["token"] == made["token"]
    namespaces = ask(tested, "GET", f"/clusters/{made['name']}/api/v1/namespaces", token=made["token"])
    assert namespaces.status == 200 and len(namespaces.json["items"]) == 4
    assert ask(tested, "DELETE", f"{CLUSTERS}/{made['name']}").status == 200
    until(lambda: ask(tested, "GET", f"/clusters/{made['name']}/api", token=made["token"]).status == 404)
    until(lambda: ask(tested, "DELETE", f"{CLUSTERS}/{made['name']}").status == 404)


def test_a_name_may_be_given_once(tested: ApiServer) -> None:
    assert ask(tested, "POST", CLUSTERS, {"name": "mine"}).json["name"] == "mine"
    assert ask(tested, "POST", CLUSTERS, {"name": "mine"}).status == 409
    assert ask(tested, "POST", CLUSTERS, {"name": "a.b"}).status == 422
    assert ask(tested, "POST", CLUSTERS, ["mine"]).status == 400


def test_an_administrator_of_a_control_plane_makes_none(tested: ApiServer) -> None:
    made = ask(tested, "POST", CLUSTERS).json
    assert ask(tested, "POST", f"/clusters/{made['name']}{CLUSTERS}", token=made["token"]).status == 404
    assert ask(tested, "POST", CLUSTERS, token=made["token"]).status == 401
