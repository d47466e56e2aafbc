"""Mutating webhooks that get custom objects in another version than that of the request: the result is converted."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer, webhook
from tests.integration.customresources.definitions import establish
from tests.integration.customresources.hook import Hook, with_webhook
from tests.integration.server.client import ask

GROUP = "mutated.example.com"
WIDGETS = f"/apis/{GROUP}/v1/namespaces/default/widgets"
WIDGET = {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"hostPort": "h:1"}}


@pytest.fixture(scope="module", autouse=True)
def widgets(servers: tuple[ApiServer, ApiServer], hook: Hook) -> None:
    establish(servers[0], with_webhook(GROUP, hook))


def created(server: ApiServer, **metadata: Any) -> Any:
    """The answer to a create whose object a webhook sees as v2, and to which it gives this metadata."""
    rule = {"apiGroups": [GROUP], "apiVersions": ["v2"], "resources": ["widgets"], "operations": ["CREATE"]}

    def change(request: dict[str, Any]) -> dict[str, Any]:
        obj: dict[str, Any] = request["object"]
        assert obj["spec"] == {"host": "h", "port": "1"}
        return {**obj, "metadata": {**obj["metadata"], **metadata}}

    with webhook(server, change, mutating=True, rules=[rule]):
        return ask(server, "POST", f"{WIDGETS}?dryRun=All", WIDGET)


@pytest.mark.parametrize(
    ("labels", "problem"),
    [
        ("x", "invalid metadata.labels of type string in converted object"),
        ({"a": 1}, "metadata.labels[a] must be a string, but is int64 in converted object"),
        ({"a": None}, "metadata.labels[a] must be a string, but is <nil> in converted object"),
    ],
)
def test_labels_that_are_no_texts_are_refused_by_the_conversion(server: ApiServer, labels: Any, problem: str) -> None:
    answer = created(server, labels=labels)
    told = f"conversion webhook for {GROUP}/v2, Kind=Widget returned invalid metadata: {problem}"
    assert (answer.status, answer.json["message"]) == (500, told)


def test_the_conversion_may_put_them_right(server: ApiServer, hook: Hook) -> None:
    def spoil(answer: dict[str, Any]) -> None:
        answer["response"]["convertedObjects"][0]["metadata"].pop("labels", None)

    with hook.answering(spoil):
        answer = created(server, labels="x", finalizers="y")
    assert answer.status == 201
    assert "labels" not in answer.json["metadata"]
    assert answer.json["spec"] == WIDGET["spec"]
