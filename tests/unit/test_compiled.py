"""Dataclasses behave as ever when the code of their methods is kept, and nothing of it is compiled a second time."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PROGRAM = """
import sys
from apiserver_gateway.compiled import Compiled
compiled = Compiled(sys.argv[1])
compiled.install()
from collections import namedtuple
from dataclasses import FrozenInstanceError, dataclass, field
texts = []
sys.addaudithook(lambda event, given: texts.append(given[0]) if event == "compile" and given[0] else None)

@dataclass(frozen=True, slots=True, order=True)
class One:
    number: int
    more: list[int] = field(default_factory=list)

@dataclass
class Two(dict):
    text: str = "x"
    def __repr__(self): return "mine"

Three = namedtuple("Three", "a b", defaults=[2])
assert One(1) == One(1, []) != One(2) and One(1) < One(2) and repr(One(1)).endswith("One(number=1, more=[])")
assert repr(Two("y")) == "mine" and Two().text == "x" and hash(Three(1)) == hash((1, 2)) and Three(1).b == 2
try:
    One(1).number = 2
except FrozenInstanceError:
    print(len(texts))
compiled.keep()
"""


def compilations(path: Path) -> int:
    """How many texts the program had compiled; it fails when one of its classes does not behave."""
    command = [sys.executable, "-c", PROGRAM, path]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return int(subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, env=environment).stdout)


def test_what_was_compiled_once_is_not_compiled_again(tmp_path: Path) -> None:
    assert compilations(tmp_path / "kept") > 5
    assert compilations(tmp_path / "kept") == 0
    assert [each.name for each in tmp_path.iterdir()] == ["kept"]


@pytest.mark.parametrize(
    "broken", [b"", b"\0\0\0\0", importlib.util.MAGIC_NUMBER, importlib.util.MAGIC_NUMBER + b"\xff", b"\0\0\0\0{0"]
)
def test_a_file_that_is_broken_or_of_another_python_is_made_anew(tmp_path: Path, broken: bytes) -> None:
    (tmp_path / "kept").write_bytes(broken)
    assert compilations(tmp_path / "kept") > 5
    assert compilations(tmp_path / "kept") == 0


def test_a_directory_that_cannot_be_written_is_no_failure(tmp_path: Path) -> None:
    assert compilations(tmp_path / "missing" / "kept") > 5
