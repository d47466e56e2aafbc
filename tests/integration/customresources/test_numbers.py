"""Numbers in custom objects are encoded as Go encodes them, and keep their values when they are read again."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer
from tests.integration.customresources.definitions import MERGE, definition, establish, version
from tests.integration.server.client import ask

GROUP = "numbers.example.com"
PATH = f"/apis/{GROUP}/v1/namespaces/default/widgets"
APPLY = {"Content-Type": "application/apply-patch+yaml"}


def widget(name: str, number: float) -> dict[str, Any]:
    spec = {"free": number, "number": number}
    return {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec}


@pytest.fixture
def numbers(server: ApiServer) -> ApiServer:
    properties = {"number": {"type": "number"}}
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": properties}
    if ask(server, "GET", PATH).status == 404:
        establish(server, definition(GROUP, version("v1", {"spec": free})))
    return server


@pytest.mark.parametrize(
    ("sent", "written"), [(1e-6, "0.000001"), (9.99e-6, "0.00000999"), (1e-7, "1e-7"), (1e21, "1e+21")]
)
def test_they_are_written_as_go_writes_them(numbers: ApiServer, sent: float, written: str) -> None:
    wanted = f'"free":{written},"number":{written}'
    name = f"go{written.replace('+', '')}"
    labels = {"metadata": {"labels": {"a": "b"}}}
    applied = widget(f"{name}.applied", sent)
    answers = (
        ask(numbers, "POST", PATH, widget(name, sent)),
        ask(numbers, "GET", f"{PATH}/{name}"),
        ask(numbers, "PATCH", f"{PATH}/{name}", labels, headers=MERGE),
        ask(numbers, "PATCH", f"{PATH}/{name}.applied?fieldManager=a", applied, headers=APPLY),
    )
    assert [wanted in answer.body.decode() for answer in answers] == [True] * 4


@pytest.mark.parametrize("sent", [2**63, 2**64 - 1, 10**20 + 1])
def test_managers_may_apply_the_same_number_beyond_64_bits(numbers: ApiServer, sent: int) -> None:
    name = f"big{sent}"
    for manager, status in (("a", 201), ("b", 200), ("b", 200)):
        answer = ask(numbers, "PATCH", f"{PATH}/{name}?fieldManager={manager}", widget(name, sent), headers=APPLY)
        assert answer.status == status, answer.body


@pytest.mark.parametrize("sent", [2**63, 2**64, 10**20])
def test_what_is_read_and_written_back_is_no_change(numbers: ApiServer, sent: int) -> None:
    name = f"back{sent}"
    made = ask(numbers, "POST", PATH, widget(name, sent)).json
    found = ask(numbers, "PUT", f"{PATH}/{name}", made)
    assert found.json["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"], found.body
