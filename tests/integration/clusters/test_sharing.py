"""What control planes share of their first objects changes in none of them when it changes in another one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer, Cluster, ask
from tests.integration.server.client import ask as raw
from tests.until import until

RBAC = "/apis/rbac.authorization.k8s.io/v1"
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}


@pytest.fixture
def three(server: ApiServer) -> Iterator[list[Cluster]]:
    """Control planes that are awake, and in which nobody has written."""
    with ExitStack() as stack:
        made = [stack.enter_context(server.cluster()) for _ in range(3)]
        for each in made:
            ask(each, "GET", "/api/v1/namespaces/default")
        yield made


def may(place: Cluster, user: str, verb: str, groups: list[str] | None = None) -> bool:
    attributes = {"verb": verb, "resource": "pods"}
    asked = {"spec": {"user": user, "groups": groups or [], "resourceAttributes": attributes}}
    return bool(ask(place, "POST", REVIEWS, asked)["status"]["allowed"])


def test_a_default_role_that_one_changes(three: list[Cluster]) -> None:
    for each in three:
        ask(each, "POST", f"{RBAC}/clusterrolebindings", _binding("views", "view", "ada"))
        assert may(each, "ada", "list") and not may(each, "ada", "delete")
    role: Any = ask(three[0], "GET", f"{RBAC}/clusterroles/view")
    role["rules"], role["aggregationRule"] = [{**PODS, "verbs": ["delete"]}], None
    ask(three[0], "PUT", f"{RBAC}/clusterroles/view", role)
    ask(three[1], "DELETE", f"{RBAC}/clusterroles/view")
    assert [(may(each, "ada", "list"), may(each, "ada", "delete")) for each in three] == [
        *((False, True), (False, False), (True, False))
    ]
    assert ask(three[2], "GET", f"{RBAC}/clusterroles/view")["rules"]


def test_a_default_binding_that_one_changes(three: list[Cluster]) -> None:
    path, everybody = f"{RBAC}/clusterrolebindings/cluster-admin", ["everybody"]
    bound: Any = ask(three[0], "GET", path)
    bound["subjects"].append({"kind": "Group", "name": "everybody", "apiGroup": "rbac.authorization.k8s.io"})
    ask(three[0], "PUT", path, bound)
    ask(three[1], "DELETE", path)
    assert [may(each, "ada", "list", everybody) for each in three] == [True, False, False]
    assert len(ask(three[2], "GET", path)["subjects"]) == 1


def test_controllers_that_waited_do_the_work_of_the_first_write(server: ApiServer, three: list[Cluster]) -> None:
    label = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
    role = {"metadata": {"name": "own", "labels": label}, "rules": [{**PODS, "resources": ["widgets"]}]}
    ask(three[0], "POST", f"{RBAC}/clusterroles", role)
    ask(three[1], "POST", "/api/v1/namespaces", {"metadata": {"name": "new"}})
    ask(three[2], "DELETE", "/api/v1/namespaces/default/serviceaccounts/default")
    until(lambda: _shows_widgets(three[0]))
    until(lambda: _has_account(server, three[1], "new"))
    until(lambda: _has_account(server, three[2], "default"))
    assert not any(map(_shows_widgets, three[1:]))


def _has_account(server: ApiServer, place: Cluster, namespace: str) -> bool:
    path = f"/clusters/{place.name}/api/v1/namespaces/{namespace}/serviceaccounts/default"
    return raw(server, "GET", path, token=place.token).status == 200


def _shows_widgets(place: Cluster) -> bool:
    rules = ask(place, "GET", f"{RBAC}/clusterroles/view")["rules"]
    return any("widgets" in rule["resources"] for rule in rules)


def _binding(name: str, role: str, user: str) -> dict[str, Any]:
    group = "rbac.authorization.k8s.io"
    return {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "User", "name": user, "apiGroup": group}],
    }
