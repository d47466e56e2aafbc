"""Nothing is created in a namespace that is missing or ends, and the first namespaces are not deleted."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gateway.admission.plugins.namespace_lifecycle import IMMORTAL, PLUGIN
from gateway.http.status import StatusError
from gateway.kinds.attributes import Operation

CREATE, UPDATE, DELETE, CONNECT = Operation.CREATE, Operation.UPDATE, Operation.DELETE, Operation.CONNECT


def resource(plural: str, group: str = "", *, namespaced: bool = True) -> Any:
    return SimpleNamespace(group=group, resource=plural, namespaced=namespaced)


@pytest.mark.parametrize(
    ("of", "operations"),
    [
        (resource("pods"), {CREATE, UPDATE}),
        (resource("nodes", namespaced=False), set()),
        (resource("namespaces", namespaced=False), {DELETE}),
        (resource("namespaces", "e.com", namespaced=False), set()),
        (resource("namespaces", "e.com"), {CREATE, UPDATE}),
    ],
)
def test_which_writes_it_looks_at(of: Any, operations: set[Operation]) -> None:
    assert {each for each in Operation if PLUGIN.handles(of, each)} == operations


async def code(phase: str, *, cached: bool = True, updates: bool = False, **given: Any) -> tuple[int, str]:
    """The code and message of the refusal of a write; 0 and "" if it is admitted."""
    namespace = {"metadata": {"name": "n"}, "status": {"phase": phase}} if phase else None

    async def get(gvr: Any, namespace_: str, name: str) -> Any:
        return namespace if (gvr.resource, namespace_, name) == ("namespaces", "", "n") else None

    objects = SimpleNamespace(cached=lambda *place: namespace if cached else None, get=get)
    gates = SimpleNamespace(enabled=lambda gate: not updates)
    parts: Any = SimpleNamespace(objects=objects, release=SimpleNamespace(gates=gates))
    admission: Any = SimpleNamespace(
        operation=CREATE, obj={"metadata": {"name": "o"}}, old=None, name="o", namespace="n", resource=resource("pods")
    )
    for name, value in given.items():
        setattr(admission, name, value)
    admit = PLUGIN.make(parts).admit
    assert admit is not None
    try:
        waits = admit(admission)
        if waits is not None:
            await waits
    except StatusError as error:
        return error.code, error.message
    return 0, ""


@pytest.mark.parametrize("cached", [True, False])
async def test_objects_are_created_where_the_namespace_stays(cached: bool) -> None:
    assert await code("Active", cached=cached) == (0, "")
    refused, message = await code("Terminating", cached=cached)
    assert refused == 403 and "unable to create new content in namespace n because it is being terminated" in message
    assert await code("Terminating", cached=cached, operation=UPDATE, old={}, updates=True) == (0, "")


async def test_the_namespace_is_missing() -> None:
    assert (await code("", cached=False))[0] == 404
    assert (await code("", cached=False, operation=UPDATE, old={}, updates=True))[0] == 404
    assert await code("", cached=False, operation=UPDATE, old={}) == (0, "")
    assert await code("", cached=False, resource=resource("localsubjectaccessreviews")) == (0, "")


async def test_the_first_namespaces_stay() -> None:
    for name in IMMORTAL:
        of_one = {"operation": DELETE, "obj": None, "name": name}
        assert (await code("Active", resource=resource("namespaces"), **of_one))[0] == 403
        assert await code("Active", resource=resource("pods"), **of_one) == (0, "")
    assert await code("Active", resource=resource("namespaces"), operation=DELETE, obj=None, name="n") == (0, "")
