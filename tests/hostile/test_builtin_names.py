"""CRDs that are named like built-in resources are stored like others, and change nothing that is built in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer, api_server
from gateway.kinds.builtin import builtin_registry
from storage.embedded import EmbeddedEtcd
from tests.hostile.test_bodies import send
from tests.integration.customresources.definitions import DEFINITIONS, conditions, definition, version
from tests.integration.server.client import ask
from tests.until import until

APPROVED = {"api-approved.kubernetes.io": "unapproved, a test"}
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
LATE = ("configmaps/kube-root-ca.crt", "serviceaccounts/default")  # in each namespace; controllers create them
OF_CONTROLLERS = "apiserver-gateway-controllers"  # a Lease; another Lease is named after the server's identity
BRICKS = ("customresourcedefinitions.apiextensions.k8s.io", "apiservices.apiregistration.k8s.io")
REGISTRY = builtin_registry()
NAMES = sorted({(each.group, each.resource) for each in REGISTRY.resources.values()})
DOTTED = [(group, plural) for group, plural in NAMES if "." in group]
DOTLESS = [(group, plural) for group, plural in NAMES if "." not in group]


def named_like(group: str, plural: str) -> dict[str, Any]:
    """A CRD with the names of a built-in resource, with all its versions and one that it does not have."""
    served = [each.version for each in REGISTRY.resources.values() if (each.group, each.resource) == (group, plural)]
    kind = next(each.kind for key, each in REGISTRY.resources.items() if key[::2] == (group, plural) and not key[3])
    versions = [version(name, storage=name == "v9") for name in (*dict.fromkeys(served), "v9")]
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    made = definition(group, *versions, plural=plural, names=names, scope="Cluster")
    made["metadata"]["annotations"] = APPROVED
    return made


def lists() -> Iterator[str]:
    """The paths of all built-in collections."""
    for each in REGISTRY.resources.values():
        if "list" in each.verbs and not each.subresource:
            start = f"/apis/{each.group}" if each.group else "/api"
            yield f"{start}/{each.version}/{each.resource}"


def objects(server: ApiServer) -> dict[str, tuple[int, list[str]]]:
    """The uids in each built-in collection, without the objects that a server writes by itself."""
    found = {}
    for path in lists():
        answer = ask(server, "GET", path)
        uids = [one["metadata"].get("uid") for one in answer.json.get("items") or () if "events" not in path]
        found[path] = answer.status, uids
    return found


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    with EmbeddedEtcd() as etcd, api_server(etcd_servers=etcd.endpoint) as running:
        until(lambda: ask(running, "GET", "/readyz").status == 200)
        settle(running)
        yield running


def settle(server: ApiServer) -> dict[str, tuple[int, list[str]]]:
    """Waits for the objects that every cluster has; controllers create some of them after the start. Returns all
    objects.
    """
    core, leases = "/api/v1/namespaces", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"

    def has_all() -> bool:
        places = [f"{core}/{each}" for each in names_of(server, core)]
        made = (f"{each}/{what}" for each in places for what in LATE)
        return (
            ask(server, "GET", "/readyz").status == 200
            and all(ask(server, "GET", each).status == 200 for each in made)
            and {each.startswith(OF_CONTROLLERS) for each in names_of(server, leases)} == {True, False}
            and bool(names_of(server, BINDINGS))
        )

    until(has_all)
    seen = [objects(server)]
    until(lambda: seen.append(objects(server)) or seen[-2] == seen[-1])  # type: ignore[func-returns-value]
    return seen[-1]


def names_of(server: ApiServer, path: str) -> list[str]:
    return [one["metadata"]["name"] for one in ask(server, "GET", path).json["items"]]


def test_bindings_stay_when_a_definition_of_their_names_goes(server: ApiServer) -> None:
    before = [one["metadata"]["uid"] for one in ask(server, "GET", BINDINGS).json["items"]]
    made = named_like("rbac.authorization.k8s.io", "clusterrolebindings")
    made["spec"]["versions"] = [version("v1")]
    name = made["metadata"]["name"]
    assert ask(server, "POST", DEFINITIONS, made).status == 201
    until(lambda: conditions(server, name).get("Established") == "True")
    assert ask(server, "DELETE", f"{DEFINITIONS}/{name}").status == 200
    until(lambda: ask(server, "GET", f"{DEFINITIONS}/{name}").status == 404)
    assert [one["metadata"]["uid"] for one in ask(server, "GET", BINDINGS).json["items"]] == before


@pytest.mark.parametrize("name", BRICKS)
def test_a_definition_of_a_storage_prefix_that_is_built_in(server: ApiServer, name: str) -> None:
    plural, _, group = name.partition(".")
    made = named_like(group, plural)
    made["spec"]["versions"] = [version("v9")]
    assert ask(server, "POST", DEFINITIONS, made).status == 201
    until(lambda: conditions(server, name).get("Established") == "True")
    for _ in ("at once", "after a start"):
        assert ask(server, "GET", DEFINITIONS).status == 200
        assert ask(server, "GET", f"{DEFINITIONS}/{name}").status == 200
        assert ask(server, "GET", "/apis/apiregistration.k8s.io/v1/apiservices").status == 200
        assert ask(server, "GET", f"/apis/{group}/v9/{plural}").status == 404
        server.stop()
        server.start()
    assert ask(server, "DELETE", f"{DEFINITIONS}/{name}").status == 200
    until(lambda: ask(server, "GET", f"{DEFINITIONS}/{name}").status == 404)


def test_all_that_is_built_in_is_held_against_definitions_of_its_names(server: ApiServer) -> None:
    """Creates a CRD for each built-in resource: it is stored, not served, and deleted; no built-in object changes."""
    before = settle(server)  # earlier tests may have started the server again
    names = []
    for group, plural in DOTTED:
        made = named_like(group, plural)
        names.append(made["metadata"]["name"])
        status, text = send(server, "POST", DEFINITIONS, made)
        assert status == 201, text
    for name in names:
        until(lambda name=name: conditions(server, name).get("NamesAccepted") == "True")
    assert set(names_of(server, DEFINITIONS)) >= set(names)
    for group, plural in DOTTED:
        assert ask(server, "GET", f"/apis/{group}/v9/{plural}").status == 404
        assert ask(server, "POST", f"/apis/{group}/v9/{plural}", {"metadata": {"name": "a"}}).status == 404
    now = objects(server)
    del now[DEFINITIONS]
    assert now == {path: found for path, found in before.items() if path != DEFINITIONS}
    for path in ("/apis", "/openapi/v2", "/openapi/v3"):
        assert ask(server, "GET", path).status == 200
    for name in names:
        assert ask(server, "DELETE", f"{DEFINITIONS}/{name}").status == 200
    for name in names:
        until(lambda name=name: ask(server, "GET", f"{DEFINITIONS}/{name}").status == 404)
    assert objects(server) == before


@pytest.mark.parametrize(("group", "plural"), DOTLESS)
def test_groups_without_a_dot_are_refused(server: ApiServer, group: str, plural: str) -> None:
    made = named_like(group, plural)
    made["metadata"]["name"] = f"{plural}.{group}"
    assert send(server, "POST", f"{DEFINITIONS}?dryRun=All", made)[0] == 422
