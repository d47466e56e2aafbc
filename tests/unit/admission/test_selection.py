"""Which webhooks are called: the namespace, the object's labels and the match conditions decide together."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from gateway.admission.chain import PluginParts
from gateway.admission.matcher import Constraints, Matcher, MatchTarget
from gateway.admission.record import Admission
from gateway.admission.webhooks.configuration import Hook, Hooks
from gateway.admission.webhooks.selection import Selection
from gateway.http.status import StatusError
from gateway.kinds.attributes import Operation
from gateway.kinds.builtin import builtin_registry

REGISTRY = builtin_registry()
PODS = REGISTRY.resources["", "v1", "pods", ""]
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["*"]}
HOOK = cast(Hook, SimpleNamespace(name="h", conditions=None))


class Objects:
    async def get(self, resource: Any, namespace: str, name: str) -> Any:
        return {"metadata": {"name": "n", "labels": {"of": "n"}}} if name == "n" else None


async def target(namespace: str, labels: dict[str, str], **constraints: Any) -> MatchTarget | None:
    """The target of the creation of a pod with these labels."""
    obj = {"metadata": {"name": "p", "labels": labels}}
    admission: Any = SimpleNamespace(obj=obj, old=None, name="p", namespace=namespace, resource=PODS)
    parts: Any = SimpleNamespace(objects=Objects())
    compiled = Constraints.of({"resourceRules": [RULE], **constraints})
    (candidate,) = Matcher([(HOOK, compiled)], REGISTRY).of(PODS, Operation.CREATE)
    hooks: Any = SimpleNamespace(informed=True)
    selection = Selection(cast(PluginParts, parts), cast(Admission, admission), cast(Hooks, hooks), "admit")
    return await selection.target(candidate)


@pytest.mark.parametrize(
    ("constraints", "labels", "matches"),
    [
        ({}, {}, True),
        ({"namespaceSelector": {"matchLabels": {"of": "n"}}}, {}, True),
        ({"namespaceSelector": {"matchLabels": {"of": "m"}}}, {}, False),
        ({"objectSelector": {"matchLabels": {"a": "b"}}}, {"a": "b"}, True),
        ({"objectSelector": {"matchLabels": {"a": "b"}}}, {}, False),
        ({"excludeResourceRules": [{**RULE, "resourceNames": ["p"]}]}, {}, False),
    ],
)
async def test_labels_of_namespace_and_object_decide(
    constraints: dict[str, Any], labels: dict[str, str], matches: bool
) -> None:
    assert (await target("n", labels, **constraints) is not None) is matches


async def test_a_namespace_that_is_missing_is_an_error_where_its_labels_decide() -> None:
    assert await target("gone", {}) is not None
    with pytest.raises(StatusError) as missing:
        await target("gone", {}, namespaceSelector={"matchLabels": {"of": "n"}})
    assert missing.value.code == 404
