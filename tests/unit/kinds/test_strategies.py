"""The special behaviour of kinds, as their strategies define it."""

import pytest

from gateway.kinds.builtin import builtin_registry
from gateway.kinds.identity import GroupResource
from gateway.kinds.strategies import DEFAULT, MODULES, strategy_for
from gateway.kinds.strategy import Allocation, Dependents, Strategy
from gateway.release.early_versions import EARLY
from gateway.release.gates import Gates
from gateway.release.release import release_of

RESOURCES = [each for each in builtin_registry().resources.values() if not each.subresource]
STRATEGIES = {each.qualified: each.model.strategy() for each in RESOURCES}


def those(says: str, default: object) -> dict[str, object]:
    found = {name: getattr(strategy, says) for name, strategy in STRATEGIES.items()}
    return {name: value for name, value in found.items() if value != default}


def test_every_strategy_is_of_a_served_resource() -> None:
    later = builtin_registry(release=release_of(minor="1.37")).resources.values()
    served = {each.gvr.group_resource for each in (*RESOURCES, *later)}
    early = {GroupResource(group, f"{kind.lower()}s") for (group, _), each in EARLY.items() for kind in each.kinds}
    assert set(MODULES) <= served | early


def test_dependents_are_deleted_by_default_but_for_what_clients_of_old_expect() -> None:
    assert those("dependents", Dependents.DELETE) == {
        "replicationcontrollers": Dependents.ORPHAN,
        "jobs.batch": Dependents.ORPHAN,
        "events": Dependents.NONE,
        "events.events.k8s.io": Dependents.NONE,
    }
    assert list(those("warning_on_default_dependents", "")) == ["jobs.batch"]


def test_kinds_of_the_api_machinery_take_any_finalizer() -> None:
    group = "admissionregistration.k8s.io"
    policies = [
        f"{way}admission{what}.{group}" for way in ("mutating", "validating") for what in ("policies", "policybindings")
    ]
    webhooks = [f"{way}webhookconfigurations.{group}" for way in ("mutating", "validating")]
    assert sorted(those("standard_finalizers", True)) == sorted(
        [
            *policies,
            *webhooks,
            "apiservices.apiregistration.k8s.io",
            "customresourcedefinitions.apiextensions.k8s.io",
            "events",
            "events.events.k8s.io",
            "leases.coordination.k8s.io",
            "poddisruptionbudgets.policy",
            "runtimeclasses.node.k8s.io",
        ]
    )


def test_events_expire() -> None:
    assert those("expires", False) == {"events": True, "events.events.k8s.io": True}


def test_services_take_addresses() -> None:
    assert those("allocation", None) == {"services": Allocation.SERVICE_ADDRESSES}


def test_deletions_that_answer_the_object() -> None:
    assert len(those("returns_deleted", False)) == 17
    assert STRATEGIES["pods"].returns_deleted
    assert not STRATEGIES["configmaps"].returns_deleted


def test_system_priority_classes_stay() -> None:
    refuse = STRATEGIES["priorityclasses.scheduling.k8s.io"].refuse_deletion
    assert refuse("system-node-critical") == "this is a system priority class and cannot be deleted"
    assert refuse("mine") == ""
    assert Strategy().refuse_deletion("system-node-critical") == ""


@pytest.mark.parametrize(
    ("pod", "asked", "grace"),
    [
        ({}, 5, 0),
        ({"spec": {"nodeName": "n"}, "status": {"phase": "Succeeded"}}, 5, 0),
        ({"spec": {"nodeName": "n", "terminationGracePeriodSeconds": 30}}, None, 30),
        ({"spec": {"nodeName": "n", "terminationGracePeriodSeconds": 30}}, 5, 5),
        ({"spec": {"nodeName": "n", "terminationGracePeriodSeconds": -1}}, None, 1),
        ({"spec": {"nodeName": "n"}}, 0, 0),
    ],
)
def test_pods_get_time_when_a_kubelet_runs_them(pod: dict[str, object], asked: int | None, grace: int) -> None:
    assert those("grace_period", None).keys() == {"pods"}
    grace_period = STRATEGIES["pods"].grace_period
    assert grace_period is not None
    assert grace_period(pod, asked) == grace


def test_a_namespace_is_emptied_before_it_goes() -> None:
    assert those("termination", None).keys() == {"namespaces", "customresourcedefinitions.apiextensions.k8s.io"}
    assert those("in_its_own_namespace", False).keys() == {"namespaces"}
    termination = STRATEGIES["namespaces"].termination
    assert termination is not None
    namespace = {"metadata": {"name": "n"}, "spec": {"finalizers": ["kubernetes", "e.com/x"]}}
    assert termination.finalizers(namespace) == ["kubernetes", "e.com/x"]
    termination.begin(namespace, "2024-01-02T03:04:05Z")
    assert namespace["metadata"]["deletionTimestamp"] == "2024-01-02T03:04:05Z"
    assert namespace["status"] == {"phase": "Terminating"}
    termination.begin(namespace, "2025-01-02T03:04:05Z")
    assert namespace["metadata"]["deletionTimestamp"] == "2024-01-02T03:04:05Z"


def test_a_resource_without_a_strategy_has_the_generic_rules() -> None:
    assert strategy_for("", "componentstatuses") is DEFAULT
    assert strategy_for("", "pods", "nosuchthing", Gates("1.36")) is DEFAULT
