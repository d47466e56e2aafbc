"""Every flag has a test that shows its effect, which tests/flag_effects.py names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gateway.settings.flags import FLAGS
from tests.flag_effects import NAMED, WITHOUT

TESTS = Path(__file__).parents[2]


@pytest.mark.parametrize("flag", [flag.name for flag in FLAGS])
def test_a_flag_has_a_test_of_its_effect(flag: str) -> None:
    assert (flag in NAMED) != (flag in WITHOUT)
    if flag in NAMED:
        file, _, test = NAMED[flag].partition("::")
        assert re.search(rf"^(async )?def {test}\(", (TESTS / file).read_text(), re.MULTILINE)


def test_no_other_flag_is_named() -> None:
    assert NAMED.keys() | WITHOUT.keys() == {flag.name for flag in FLAGS}
