"""Workers take the longest files first, and all tests of a file together."""

from __future__ import annotations

from pathlib import Path

from tests.order import LONGEST, longest_first

ROOT = Path(__file__).parents[2]


def test_the_longest_come_first_and_then_those_with_the_most_to_do() -> None:
    quick = [f"tests/unit/test_quick.py::test_{number}" for number in range(30)]
    servers = [f"tests/integration/test_servers.py::test_{number}" for number in range(2)]
    nodes = [*quick, "tests/unit/test_one.py::test_one", *servers, f"{LONGEST[1]}::test_a", f"{LONGEST[0]}::test_b"]
    mixed = sorted(nodes, key=lambda node: node[::-1])
    found = sorted(mixed, key=longest_first(nodes))
    files = list(dict.fromkeys(node.partition("::")[0] for node in found))
    assert files == [
        *LONGEST[:2],
        "tests/integration/test_servers.py",
        "tests/unit/test_quick.py",
        "tests/unit/test_one.py",
    ]


def test_the_longest_are_there() -> None:
    assert [each for each in LONGEST if not (ROOT / each).is_file()] == []
