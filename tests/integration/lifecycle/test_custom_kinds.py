"""Garbage collection with owners and dependents of custom kinds whose CRDs come and go."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer
from tests.integration.lifecycle.api import Api, reference
from tests.integration.server.client import ask
from tests.until import until

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP = "lifecycle.example.com"


def definition() -> dict[str, Any]:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    names = {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"}
    spec = {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]}
    return {"apiVersion": "apiextensions.k8s.io/v1", "metadata": {"name": f"gadgets.{GROUP}"}, "spec": spec}


class Gadgets:
    """The gadgets of a namespace."""

    def __init__(self, api: Api) -> None:
        self.api, self.path = api, f"/apis/{GROUP}/v1/namespaces/{api.namespace}/gadgets"

    def create(self, name: str, *owners: Any) -> dict[str, Any]:
        meta = {"name": name, "ownerReferences": [reference(each) for each in owners]}
        body = {"apiVersion": f"{GROUP}/v1", "kind": "Gadget", "metadata": meta}
        answer = self.api.ask("POST", self.path, body)
        assert answer.status == 201, answer.body
        made: dict[str, Any] = answer.json
        return made

    def names(self) -> set[str]:
        return {each["metadata"]["name"] for each in self.api.ask("GET", self.path).json.get("items", ())}


@pytest.fixture
def gadgets(server: ApiServer, api: Api) -> Iterator[Gadgets]:
    """Gadgets, whose CRD is deleted at the end of the test."""
    assert ask(server, "POST", DEFINITIONS, definition()).status == 201
    gadgets = Gadgets(api)
    until(lambda: api.ask("GET", gadgets.path).status == 200)
    yield gadgets
    ask(server, "DELETE", f"{DEFINITIONS}/gadgets.{GROUP}")
    until(lambda: ask(server, "GET", f"{DEFINITIONS}/gadgets.{GROUP}").status == 404)


def test_custom_objects_own_and_are_owned(gadgets: Gadgets) -> None:
    owner = gadgets.create("owner")
    child = gadgets.api.create("child", [owner])
    gadgets.create("grandchild", child)
    gadgets.create("stranger")
    assert gadgets.api.ask("DELETE", f"{gadgets.path}/owner?propagationPolicy=Background").status == 200
    until(lambda: gadgets.names() == {"stranger"} and not gadgets.api.names())


def test_custom_objects_go_with_their_namespace(gadgets: Gadgets) -> None:
    gadgets.create("a")
    gadgets.api.ask("DELETE", f"/api/v1/namespaces/{gadgets.api.namespace}")
    until(lambda: gadgets.api.ask("GET", f"/api/v1/namespaces/{gadgets.api.namespace}").status == 404)
    assert gadgets.names() == set()


def retries(server: ApiServer) -> str:
    """How often the namespace controller has retried."""
    metrics = ask(server, "GET", "/metrics").body.decode()
    return metrics.partition('workqueue_retries_total{name="namespace"} ')[2].partition("\n")[0]


def test_a_namespace_ends_though_a_definition_goes_meanwhile(server: ApiServer, gadgets: Gadgets) -> None:
    api, space = gadgets.api, f"/api/v1/namespaces/{gadgets.api.namespace}"
    before = retries(server)
    for number in range(40):
        gadgets.create(f"g-{number}")
    api.ask("DELETE", space)
    ask(server, "DELETE", f"{DEFINITIONS}/gadgets.{GROUP}")
    until(lambda: api.ask("GET", space).status == 404)
    until(lambda: ask(server, "GET", f"{DEFINITIONS}/gadgets.{GROUP}").status == 404)
    assert retries(server) == before


def served(api: Api, version: str, on: bool) -> None:
    """Switches a version of the CRD on or off, and waits for it."""
    path = f"{DEFINITIONS}/gadgets.{GROUP}"
    found = api.ask("GET", path).json
    for each in found["spec"]["versions"]:
        each["served"] = on if each["name"] == version else each["served"]
    answer = api.ask("PUT", path, found)
    assert answer.status == 200, answer.body
    until(lambda: (api.ask("GET", f"/apis/{GROUP}/{version}").status == 200) is on)


@pytest.fixture
def older(gadgets: Gadgets) -> dict[str, Any]:
    """Creates an owner, by a version that is not served any more, of the object "dependent", which blocks its
    deletion.
    """
    api, path = gadgets.api, f"{DEFINITIONS}/gadgets.{GROUP}"
    found = api.ask("GET", path).json
    found["spec"]["versions"].append({**found["spec"]["versions"][0], "name": "v1beta1", "storage": False})
    assert api.ask("PUT", path, found).status == 200
    until(lambda: api.ask("GET", f"/apis/{GROUP}/v1beta1").status == 200)
    old = {**gadgets.create("owner"), "apiVersion": f"{GROUP}/v1beta1"}
    api.create("dependent", [(old, True)])
    served(api, "v1beta1", on=False)
    return old


@pytest.mark.parametrize("policy", ["Background", "Foreground"])
def test_dependents_go_with_an_owner_in_a_version_that_is_not_served(
    gadgets: Gadgets, older: dict[str, Any], policy: str
) -> None:
    api = gadgets.api
    api.create("later", [older, api.create("other")])
    api.delete("other", "Background")
    until(lambda: len((api.get("later") or {})["metadata"]["ownerReferences"]) == 1)  # the owner is known to exist
    assert api.names() == {"dependent", "later"}
    assert api.ask("DELETE", f"{gadgets.path}/owner?propagationPolicy={policy}").status == 200
    until(lambda: not api.names() and not gadgets.names())


def test_dependents_go_with_a_kind_of_which_they_name_a_version_that_is_not_served(
    gadgets: Gadgets, older: dict[str, Any]
) -> None:
    assert gadgets.api.names() == {"dependent"}
    gadgets.api.ask("DELETE", f"{DEFINITIONS}/gadgets.{GROUP}")
    until(lambda: not gadgets.api.names())


def test_dependents_go_with_owners_whose_kind_goes(gadgets: Gadgets) -> None:
    api = gadgets.api
    for number in range(20):
        api.create(f"child-{number}", [gadgets.create(f"g-{number}")])
    api.create("kept", [api.create("owner")])
    api.ask("DELETE", f"{DEFINITIONS}/gadgets.{GROUP}")
    until(lambda: api.names() == {"kept", "owner"})


def test_when_a_kind_comes_its_absent_owners_are_noticed(server: ApiServer, api: Api) -> None:
    absent = {"kind": "Gadget", "apiVersion": f"{GROUP}/v1", "metadata": {"name": "gone", "uid": "u-1"}}
    api.create("dependent", [absent])
    api.create("probe", [api.create("owner")])
    api.delete("owner", "Background")
    until(lambda: api.names() == {"dependent"})  # the other one was examined later, and is deleted
    assert ask(server, "POST", DEFINITIONS, definition()).status == 201
    until(lambda: not api.names())
    ask(server, "DELETE", f"{DEFINITIONS}/gadgets.{GROUP}")
    until(lambda: ask(server, "GET", f"{DEFINITIONS}/gadgets.{GROUP}").status == 404)
