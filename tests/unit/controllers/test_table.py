"""--controllers has the syntax of kube-controller-manager's flag."""

from __future__ import annotations

import pytest

from gateway.controllers.table import CONTROLLERS, wanted
from gateway.settings.config import InvalidSettings

ALL = [name for name, known in CONTROLLERS.items() if known.default_on]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["*"], ALL),
        (["*", "podgc"], [*ALL, "pod-garbage-collector-controller"]),
        (["*", "-garbagecollector"], [name for name in ALL if name != "garbage-collector-controller"]),
        (["-namespace-controller", "*"], [name for name in ALL if name != "namespace-controller"]),
        (["namespace", "garbagecollector"], ["garbage-collector-controller", "namespace-controller"]),
        (["namespace", "-namespace"], ["namespace-controller"]),
        (["*", "-deployment", "-storageversion-garbage-collector-controller"], ALL),
        (["-*"], []),
        ([], []),
    ],
)
def test_the_first_mention_counts_and_the_star_is_those_that_are_on(given: list[str], expected: list[str]) -> None:
    assert wanted(given) == expected


@pytest.mark.parametrize("name", ["deploiment", "-deploiment", "deployment"])
def test_a_controller_that_is_not_here_is_told(name: str) -> None:
    with pytest.raises(InvalidSettings, match=name.removeprefix("-")):
        wanted(["*", name])
