"""The versions in managedFields entries."""

from __future__ import annotations

import pytest

from gateway.customresources.model import model_of, resources_of
from gateway.kinds.manager_versions import version_of_manager
from gateway.kinds.resource import Resource
from tests.unit.kinds.builtin import REGISTRY

NOT_THERE = "request to convert CR to an invalid group/version: "


def builtin(group: str, version: str, kind: str) -> Resource:
    found = REGISTRY.by_kind(group, version, kind)
    assert found is not None
    return found


def custom() -> Resource:
    versions = [{"name": "v1", "storage": True, "served": True}, {"name": "v2", "served": False}]
    definition = {
        "metadata": {},
        "spec": {"group": "e.com", "scope": "Namespaced", "versions": versions},
        "status": {"acceptedNames": {"plural": "things", "kind": "Thing"}},
    }
    return resources_of(definition, model_of(definition, lambda _: None))[0]


@pytest.mark.parametrize("named", ["v9", "apps/v1", "e.com/v1", "apps/v1beta1"])
def test_a_version_that_a_built_in_kind_does_not_have_is_none(named: str) -> None:
    assert version_of_manager(builtin("", "v1", "ConfigMap"), named) is None


def test_versions_of_another_group_are_not_those_of_a_kind_that_is_in_both() -> None:
    assert version_of_manager(builtin("", "v1", "Event"), "events.k8s.io/v1") is None
    found = version_of_manager(builtin("autoscaling", "v2", "HorizontalPodAutoscaler"), "autoscaling/v1")
    assert found is not None and found.api_version == "autoscaling/v1"


@pytest.mark.parametrize("named", ["v1", "e.com/v9", "other.com/v1"])
def test_a_version_that_a_definition_does_not_have_can_not_be_told_of(named: str) -> None:
    with pytest.raises(ValueError, match=f"^{NOT_THERE}{named}$"):
        version_of_manager(custom(), named)


def test_a_version_that_is_not_served_is_one() -> None:
    found = version_of_manager(custom(), "e.com/v2")
    assert found is not None and found.api_version == "e.com/v2"


@pytest.mark.parametrize("resource", [builtin("", "v1", "ConfigMap"), custom()])
def test_what_is_no_version_can_not_be_told_of(resource: Resource) -> None:
    with pytest.raises(ValueError, match=r"^unexpected GroupVersion string: a/b/c$"):
        version_of_manager(resource, "a/b/c")
