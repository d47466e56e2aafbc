"""The APIs of a minor are those of Kubernetes' published modules; the catalog is of one minor."""

from __future__ import annotations

import pytest

from gateway.kinds.builtin import builtin_registry
from gateway.release.lifecycle import absent, serves
from gateway.release.minors import CATALOGUED, GIT_VERSIONS, minor_of
from gateway.release.release import release_of

ADMISSION = "admissionregistration.k8s.io"


def test_the_minor_of_the_catalog_serves_all_of_it() -> None:
    registry = builtin_registry(release=release_of(minor=CATALOGUED))
    assert not absent(CATALOGUED, registry.kinds()) and not registry.unserved


@pytest.mark.parametrize("minor", ["1.34", "1.35"])
def test_a_minor_does_not_serve_what_came_later(minor: str) -> None:
    registry = builtin_registry(release=release_of(minor=minor))
    assert registry.unserved == {
        (ADMISSION, "v1", "mutatingadmissionpolicies"),
        (ADMISSION, "v1", "mutatingadmissionpolicybindings"),
    }
    kinds = {each.kind for each in registry.of_version(ADMISSION, "v1")}
    assert "MutatingWebhookConfiguration" in kinds and "MutatingAdmissionPolicy" not in kinds


def test_a_minor_that_is_not_known_and_a_version_that_is_off_by_default() -> None:
    with pytest.raises(KeyError):
        serves("1.33", "", "v1", "Pod")
    assert not serves("1.36", "resource.k8s.io", "v1beta1", "ResourceClaim")


def test_what_is_switched_off_stays_so_when_more_is() -> None:
    registry = builtin_registry(release=release_of(minor="1.35"))
    before = registry.unserved
    registry.switch_off(before | {("apps", "v1", "deployments")})
    assert registry.unserved == before | {("apps", "v1", "deployments")}


def test_a_minor_is_named_by_itself_or_by_its_release() -> None:
    assert [minor_of(each) for each in ("1.35", "v1.35", "1.35.4", "v1.35.4")] == ["1.35"] * 4


def test_a_version_that_is_not_served_is_refused_with_those_that_are() -> None:
    offered = f"give one of {', '.join(GIT_VERSIONS)}"
    for given in ("1.33", "1.35.3", "1.38", "", "x"):
        with pytest.raises(ValueError, match=offered):
            minor_of(given)
