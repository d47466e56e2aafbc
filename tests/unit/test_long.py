"""Files that are left out when tests are collected have no requested test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import long

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("name", "long_alone", "short_alone"),
    [
        ("tests/hostile/test_bodies.py", False, True),
        ("tests/integration/testing/test_pages.py", False, True),
        ("tests/integration/testing/test_nothing_left.py", False, False),  # it has some of each
        ("tests/unit/test_memo.py", True, False),
        ("tests/integration/writes/test_recurring.py", True, False),
    ],
)
def test_files_are_left_out_by_what_is_asked_for(name: str, long_alone: bool, short_alone: bool) -> None:
    path = ROOT / name
    assert (long.has_none(path, "long"), long.has_none(path, "not long")) == (long_alone, short_alone)
    assert not long.has_none(path, "") and not long.has_none(path, "long or not long")


def test_a_file_of_which_one_test_is_long_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(long, "LONG", ("tests/unit/test_memo.py::test_one",))
    path = ROOT / "tests/unit/test_memo.py"
    assert not long.has_none(path, "long") and not long.has_none(path, "not long")
    assert not long.has_none(tmp_path / "test_elsewhere.py", "long")


def test_what_is_tested_with_each_etcd_is_asked_for_beside_the_long_ones() -> None:
    names = ("tests/integration/etcd/test_apart.py", "tests/hostile/test_bodies.py", "tests/unit/test_memo.py")
    assert [long.has_none(ROOT / name, "long or etcd") for name in names] == [False, False, True]
    assert all((ROOT / each).exists() for each in long.ETCD)
