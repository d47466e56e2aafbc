"""The APIServices of the built-in groups."""

from __future__ import annotations

import pytest

from gateway.controllers.api_service_objects import PRIORITIES, api_services
from gateway.kinds.builtin import builtin_registry
from gateway.release.minors import GIT_VERSIONS
from gateway.release.release import release_of


@pytest.mark.parametrize("minor", list(GIT_VERSIONS))
def test_each_served_version_has_an_api_service(minor: str) -> None:
    served = builtin_registry(release=release_of(minor=minor)).groups
    wanted = {f"{version}.{group}" for group, versions in served.items() for version in versions}
    without = {f"v1.{group}" for group, (_, versions) in PRIORITIES.items() if not versions}
    assert {each.name for each in api_services(served)} == wanted - without
