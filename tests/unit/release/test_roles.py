"""Default roles and bindings are those of the minor."""

from __future__ import annotations

from gateway.access.rbac.default_policy import default_policy
from gateway.release.minors import CATALOGUED, GIT_VERSIONS
from gateway.release.roles import policy_of

EVICTION = "system:controller:device-taint-eviction-controller"


def names(minor: str, kind: str) -> list[str]:
    return [each["metadata"]["name"] for each in default_policy(minor)[kind]]


def test_a_role_that_came_later_is_not_there_nor_its_binding() -> None:
    for kind in ("clusterroles", "clusterrolebindings"):
        later, before = names("1.36", kind), names("1.35", kind)
        assert EVICTION in later and before == [name for name in later if name != EVICTION]


def test_a_role_has_the_rules_of_the_minor() -> None:
    found = {}
    for minor in GIT_VERSIONS:
        roles = {each["metadata"]["name"]: each for each in default_policy(minor)["clusterroles"]}
        found[minor] = [rule.get("nonResourceURLs") for rule in roles["system:monitoring"]["rules"]]
    assert all("/flagz" not in urls for urls in found["1.35"] if urls) and "/flagz" in found["1.36"][0]


def test_the_minor_of_the_catalog_has_the_roles_that_were_recorded() -> None:
    catalogued = default_policy(CATALOGUED)
    assert policy_of(CATALOGUED, catalogued) is catalogued
