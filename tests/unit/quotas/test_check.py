"""Which quotas a write is charged to, how much, and the messages of refusals."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.jsontypes import dumps
from gateway.kinds.attributes import Operation
from gateway.quotas.amounts import written
from gateway.quotas.check import Exceeded, Forbidden, Uncovered, check
from gateway.quotas.evaluator import EvaluatedWrite, Evaluator
from gateway.quotas.evaluators import evaluator_of, pods
from gateway.quotas.limited_resources import Limited, limited_of
from gateway.quotas.quota import Quota, quota_of
from gateway.schema.quantity import Quantity
from tests.unit.quotas.test_evaluators import Classes, container

CONFIG_MAPS = evaluator_of("", "configmaps")
assert CONFIG_MAPS is not None


def quota(name: str, hard: dict[str, str], used: dict[str, str] | None = None, **spec: Any) -> Quota:
    value = {"metadata": {"name": name}, "spec": spec, "status": {"hard": hard, "used": used or {}}}
    return quota_of(f"/q/{name}".encode(), dumps(value), 7)


def charges(
    quotas: list[Quota],
    new: Any = None,
    old: Any = None,
    *,
    evaluator: Evaluator = CONFIG_MAPS,
    limited: tuple[Limited, ...] = (),
    subresource: str = "",
) -> dict[str, dict[str, str]]:
    operation = Operation.CREATE if old is None else Operation.UPDATE
    obj, before = ({"metadata": {"name": "o"}, "spec": spec or {}} for spec in (new, old))
    write = EvaluatedWrite(operation, subresource, obj, None if old is None else before)
    return {found.name: written(used) for found, used in check(write, evaluator, quotas, limited, Classes()).items()}


def refusal(*args: Any, **more: Any) -> str:
    with pytest.raises((Forbidden, Uncovered)) as caught:
        charges(*args, **more)
    return str(caught.value)


def test_every_quota_that_covers_is_charged() -> None:
    quotas = [
        quota("a", {"configmaps": "3", "count/configmaps": "9"}, {"configmaps": "1", "count/configmaps": "1"}),
        quota("b", {"secrets": "1"}, {"secrets": "1"}),
        quota("c", {"configmaps": "3"}, {"configmaps": "2", "gone": "4"}),
    ]
    assert charges(quotas) == {
        "a": {"configmaps": "2", "count/configmaps": "2"},
        "c": {"configmaps": "3", "gone": "4"},
    }


def test_what_does_not_fit_says_what_is_exceeded_in_order() -> None:
    full = quota("q", {"count/configmaps": "2", "configmaps": "2"}, {"count/configmaps": "2", "configmaps": "2"})
    with pytest.raises(Exceeded) as caught:
        charges([full])
    assert caught.value.revision == 7
    assert str(caught.value) == (
        "exceeded quota: q, requested: configmaps=1,count/configmaps=1, "
        "used: configmaps=2,count/configmaps=2, limited: configmaps=2,count/configmaps=2"
    )


def test_a_write_that_is_checked_again_is_checked_against_what_is_used_by_then() -> None:
    first = quota("q", {"configmaps": "3", "pods": "1"}, {"configmaps": "1", "pods": "1"})
    other = quota("r", {"secrets": "1"}, {"secrets": "1"})
    write = EvaluatedWrite(Operation.CREATE, "", {"metadata": {"name": "o"}}, None)

    def again(*quotas: Quota) -> list[tuple[str, dict[str, str]]]:
        assert CONFIG_MAPS is not None
        becomes = check(write, CONFIG_MAPS, quotas, (), Classes())
        return [(found.name, written(used)) for found, used in becomes.items()]

    assert again(first, other) == [("q", {"configmaps": "2", "pods": "1"})]
    used = next(iter(check(write, CONFIG_MAPS, [first, other], (), Classes()).values()))
    assert again(first.using(used), other) == [("q", {"configmaps": "3", "pods": "1"})]
    with pytest.raises(Exceeded):
        again(first.using({**used, "configmaps": Quantity(3)}), other)
    stricter = quota("q", {"configmaps": "1"}, {"configmaps": "1"})
    with pytest.raises(Exceeded):
        again(stricter, other)
    assert again(first, other, quota("s", {"configmaps": "9"}, {"configmaps": "0"}))[1:] == [("s", {"configmaps": "1"})]


def test_a_quota_without_usage_refuses() -> None:
    assert refusal([quota("q", {"configmaps": "2"})]) == "status unknown for quota: q, resources: configmaps"


def test_a_quota_that_is_over_already_lets_those_through_that_use_no_more() -> None:
    over = quota("q", {"requests.cpu": "1"}, {"requests.cpu": "5"})
    spec = {"containers": [container(requests={"cpu": "2"})]}
    assert charges([over], spec, spec, evaluator=pods.EVALUATOR, subresource="resize") == {}
    smaller = {"containers": [container(requests={"cpu": "1"})]}
    assert charges([over], smaller, spec, evaluator=pods.EVALUATOR, subresource="resize") == {}
    assert "requested: requests.cpu=1," in refusal(
        [over],
        {"containers": [container(requests={"cpu": "3"})]},
        spec,
        evaluator=pods.EVALUATOR,
        subresource="resize",
    )


def test_an_update_that_enters_a_scope_is_charged_in_full() -> None:
    scoped = quota("q", {"pods": "2"}, {"pods": "0"}, scopes=["Terminating"])
    assert charges([scoped], {"activeDeadlineSeconds": 5}, {}, evaluator=pods.EVALUATOR) == {"q": {"pods": "1"}}
    assert charges([scoped], {}, {"activeDeadlineSeconds": 5}, evaluator=pods.EVALUATOR) == {}


def test_pods_have_to_say_what_is_limited() -> None:
    hard = {"limits.cpu": "1", "cpu": "1", "requests.ephemeral-storage": "1"}
    limited = quota("q", hard, dict.fromkeys(hard, "0"))
    spec = {"containers": [container("b"), container("a")], "initContainers": [container("i", limits={"cpu": "1"})]}
    said = refusal([limited], spec, evaluator=pods.EVALUATOR)
    assert said == "failed quota: q: must specify cpu for: a,b,i; limits.cpu for: a,b"


def test_limited_resources_need_a_quota() -> None:
    limited = limited_of({"limitedResources": [{"resource": "pods", "matchContains": ["requests.cpu", "gpu"]}]})
    spec = {"containers": [container(requests={"cpu": "1", "memory": "1"})]}
    assert refusal([], spec, evaluator=pods.EVALUATOR, limited=limited) == "insufficient quota to consume: requests.cpu"
    covering = quota("q", {"requests.cpu": "9"}, {"requests.cpu": "0"})
    assert charges([covering], spec, evaluator=pods.EVALUATOR, limited=limited) == {"q": {"requests.cpu": "1"}}
    assert charges([], {}, limited=limited) == {}


def test_limited_scopes_need_a_quota_that_selects_them() -> None:
    scope = {"scopeName": "PriorityClass", "operator": "In", "values": ["high", "higher"]}
    limited = limited_of({"limitedResources": [{"resource": "pods", "matchScopes": [scope]}]})
    spec = {"priorityClassName": "high", "containers": [container()]}
    said = refusal([], spec, evaluator=pods.EVALUATOR, limited=limited)
    assert said == "insufficient quota to match these scopes: [{PriorityClass In [high higher]}]"
    covering = quota("q", {"pods": "1"}, {"pods": "0"}, scopeSelector={"matchExpressions": [scope]})
    assert charges([covering], spec, evaluator=pods.EVALUATOR, limited=limited) == {"q": {"pods": "1"}}
    with pytest.raises(ValueError, match=r"limitedResources\[0\].resource: Required value"):
        limited_of({"limitedResources": [{"matchContains": ["x"]}]})
