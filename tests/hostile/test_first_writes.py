"""The first write of a kind imports modules for a tenth of a second; other requests are not delayed meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer, api_server
from tests.hostile.conftest import ACCOUNT, is_ready
from tests.hostile.probe import held_at_most
from tests.integration.customresources.definitions import DEFINITIONS, definition, version
from tests.integration.server.client import ask
from tests.until import until

HELD = 0.06  # seconds
MANY_HELD = 0.1
CONTAINERS = {"restartPolicy": "Never", "containers": [{"name": "one", "image": "one"}]}
JOB = {"metadata": {"name": "one"}, "spec": {"template": {"spec": CONTAINERS}}}
RULES = {"type": "object", "x-kubernetes-validations": [{"rule": "true"}]}


@pytest.fixture
def fresh() -> Iterator[ApiServer]:
    """A new server whose start is complete. On a busy machine some of that work comes later; it must not be
    measured.
    """
    with api_server() as running:
        until(lambda: is_ready(running) and ask(running, "GET", ACCOUNT).status == 200)
        yield running


def test_a_first_write_of_a_kind_holds_nobody(fresh: ApiServer) -> None:
    writes = (
        ("/apis/batch/v1/namespaces/default/jobs", JOB),
        (DEFINITIONS, definition("plains.example.com", version("v1", {"spec": {"type": "object"}}))),
        (DEFINITIONS, definition("ruled.example.com", version("v1", {"spec": RULES}))),
    )
    with held_at_most(fresh, HELD):
        for path, body in writes:
            answer = ask(fresh, "POST", f"{path}?dryRun=All", body)
            assert answer.status == 201, answer.body


def test_a_first_definition_of_many_versions_and_its_deletion_hold_nobody(fresh: ApiServer) -> None:
    first = version("v1", {"spec": {"type": "object"}})
    body, path = definition("manies.example.com", first), "/apis/manies.example.com/v1499/namespaces/default/widgets"
    body["spec"]["versions"] += [{**first, "name": f"v{number}", "storage": False} for number in range(2, 1500)]
    with held_at_most(fresh, MANY_HELD):
        answer = ask(fresh, "POST", DEFINITIONS, body)
        assert answer.status == 201, answer.body
        until(lambda: ask(fresh, "GET", path).status == 200)
    with held_at_most(fresh, MANY_HELD):
        assert ask(fresh, "DELETE", f"{DEFINITIONS}/widgets.manies.example.com").status == 200
        until(lambda: ask(fresh, "GET", path).status == 404)


def test_many_first_applies_of_a_kind_are_taken_at_once(fresh: ApiServer) -> None:
    """The first applies of a kind are decoded in threads, and each thread makes the kind's types if they are
    missing.
    """
    template = {"metadata": {"labels": {"app": "one"}}, "spec": {"containers": CONTAINERS["containers"]}}
    workload = {"selector": {"matchLabels": {"app": "one"}}, "template": template}
    kinds = {
        "deployments": {"apiVersion": "apps/v1", "kind": "Deployment", "spec": workload},
        "statefulsets": {"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": {**workload, "serviceName": "one"}},
        "daemonsets": {"apiVersion": "apps/v1", "kind": "DaemonSet", "spec": workload},
    }

    def apply(number: int) -> int:
        resource, body = list(kinds.items())[number % len(kinds)]
        name = f"one-{number}"
        path = f"/apis/apps/v1/namespaces/default/{resource}/{name}?fieldManager=one"
        sent: dict[str, Any] = {**body, "metadata": {"name": name}}
        return ask(fresh, "PATCH", path, sent, headers={"Content-Type": "application/apply-patch+yaml"}).status

    with ThreadPoolExecutor(12) as pool:
        assert set(pool.map(apply, range(120))) == {201}
