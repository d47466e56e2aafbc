"""An eviction looks at all PodDisruptionBudgets of its namespace."""

from __future__ import annotations

import pytest

from gateway.http.status import StatusError
from gateway.jsontypes import JsonObject, dumps
from gateway.subresources import eviction
from storage.time_slice import TimeSlice
from tests.unit.verbs.conftest import Api

PODS = "/api/v1/namespaces/default/pods"
MANY = 200


def budget(name: str, selector: JsonObject | None) -> bytes:
    spec = {"minAvailable": 1} | ({} if selector is None else {"selector": selector})
    return dumps(
        {
            "kind": "PodDisruptionBudget",
            "apiVersion": "policy/v1",
            "metadata": {"name": name, "namespace": "default", "uid": name},
            "spec": spec,
        }
    )


async def with_pod(selectors: list[JsonObject | None]) -> Api:
    """An API with a running pod of the label a=b, and a budget for each selector."""
    api = Api()
    spec = {"containers": [{"name": "c", "image": "i"}]}
    await api.send("POST", PODS, {"metadata": {"name": "p", "labels": {"a": "b"}}, "spec": spec})
    running = {"status": {"phase": "Running"}}
    await api.send("PATCH", f"{PODS}/p/status", running, "application/merge-patch+json")
    for number, selector in enumerate(selectors):
        name = f"b{number}"
        api.store._put(f"/registry/poddisruptionbudgets/default/{name}".encode(), budget(name, selector))
    return api


async def evict(api: Api) -> int:
    """The status code of an eviction."""
    try:
        return (await api.send("POST", f"{PODS}/p/eviction", {"metadata": {"name": "p"}}))[0]
    except StatusError as error:
        return error.code


@pytest.mark.parametrize(
    ("selector", "code"),
    [
        (None, 201),
        ({}, 429),
        ({"matchLabels": {"a": "b"}}, 429),
        ({"matchLabels": {"a": "c"}}, 201),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["x", "b"]}]}, 429),
        ({"matchExpressions": [{"key": "z", "operator": "NotIn", "values": ["x"]}]}, 429),
        ({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, 201),
        ({"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "z", "operator": "Exists"}]}, 201),
    ],
)
async def test_a_budget_counts_if_it_selects_the_pod(selector: JsonObject | None, code: int) -> None:
    assert await evict(await with_pod([selector])) == code


async def test_other_requests_run_while_many_budgets_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces: list[Pieces] = []

    def piece() -> Pieces:
        pieces.append(Pieces(0.0))
        return pieces[-1]

    monkeypatch.setattr(eviction, "TimeSlice", piece)
    assert await evict(await with_pod([{"matchLabels": {"a": "c"}}] * MANY)) == 201
    assert [each.turns for each in pieces] == [MANY]


class Pieces(TimeSlice):
    """Time slices that are over at once, counted."""

    turns = 0

    async def next(self) -> None:
        self.turns += 1
        await super().next()
