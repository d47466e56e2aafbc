"""The conditions of a namespace that is being deleted."""

from __future__ import annotations

from collections import Counter
from typing import Any

from gateway.controllers.namespaces import Remains, tell


def conditions(namespace: dict[str, Any]) -> dict[str, tuple[str, str, str]]:
    found = namespace["status"]["conditions"]
    return {each["type"]: (each["status"], each["reason"], each["message"]) for each in found}


def test_all_is_well_when_nothing_remains() -> None:
    namespace: dict[str, Any] = {"status": {"phase": "Terminating"}}
    assert tell(namespace, Remains())
    assert {status for status, _, _ in conditions(namespace).values()} == {"False"}
    assert len(conditions(namespace)) == 5
    assert not tell(namespace, Remains())


def test_what_remains_is_counted_by_resource_and_by_finalizer() -> None:
    namespace: dict[str, Any] = {"status": {"phase": "Terminating"}}
    tell(namespace, Remains())
    remains = Remains(Counter({"secrets.": 2, "leases.coordination.k8s.io": 1}), Counter({"b/f": 1, "a/f": 2}), ["no"])
    assert tell(namespace, remains)
    told = conditions(namespace)
    assert told["NamespaceContentRemaining"] == (
        "True",
        "SomeResourcesRemain",
        "Some resources are remaining: leases.coordination.k8s.io has 1 resource instances, "
        "secrets. has 2 resource instances",
    )
    assert told["NamespaceFinalizersRemaining"][2] == (
        "Some content in the namespace has finalizers remaining: a/f in 2 resource instances, "
        "b/f in 1 resource instances"
    )
    assert told["NamespaceDeletionContentFailure"][1:] == (
        "ContentDeletionFailed",
        "Failed to delete all resource types, 1 remaining: no",
    )


def test_group_versions_that_cannot_be_discovered_are_named() -> None:
    namespace: dict[str, Any] = {"status": {"phase": "Terminating"}}
    assert tell(namespace, Remains(undiscovered=["a.example.com/v1", "b.example.com/v2"]))
    assert conditions(namespace)["NamespaceDeletionDiscoveryFailure"] == (
        "True",
        "DiscoveryFailed",
        "Discovery failed for some groups, 2 failing: unable to retrieve the complete list of server APIs: "
        "a.example.com/v1: stale GroupVersion discovery: a.example.com/v1, "
        "b.example.com/v2: stale GroupVersion discovery: b.example.com/v2",
    )
    assert tell(namespace, Remains())
    assert conditions(namespace)["NamespaceDeletionDiscoveryFailure"][0] == "False"
