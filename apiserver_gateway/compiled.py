"""Dataclasses' code, kept: `dataclasses` writes each method as text and compiles it, at every import anew.

A server has 160 of them at its start, and to compile their methods is a fifth of what it takes to import all of it. So
the code is kept beside the bytecode of modules, and as that is: for this version of Python alone, by the text that it
is of, trusted as `__pycache__` is, and not where that can't be written.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import importlib.util
import marshal
import os
import sys
from collections.abc import Mapping
from types import CodeType
from typing import Any

MOST = 4000  # texts; those of former versions go when there are more
_MODES = {"exec": exec, "eval": eval}

Texts = dict[tuple[str, str], CodeType]  # by mode and text


class Compiled:
    """Has the modules that write code as text execute what was compiled before; `path` is where it is kept."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._kept: Texts = _read(path)
        self._used: Texts = {}

    def install(self) -> None:
        """From here on, in this process. Python's builtins stay: only these two modules find others in their place."""
        vars(dataclasses)["exec"] = lambda text, *scopes: self._run("exec", text, *scopes)
        vars(collections)["eval"] = lambda text, *scopes: self._run("eval", text, *scopes)  # of named tuples

    def _run(self, mode: str, text: Any, *scopes: Any) -> Any:
        if type(text) is not str:
            return _MODES[mode](text, *scopes)
        code = self._used.get((mode, text)) or self._kept.get((mode, text))
        if code is None:
            code = compile(text, "<string>", mode, dont_inherit=True)
        self._used[mode, text] = code
        return _MODES[mode](code, *scopes)

    def keep(self) -> None:
        """Writes what was compiled, if any of it is new; does nothing where that can't be."""
        if sys.dont_write_bytecode or self._used.keys() <= self._kept.keys():
            return
        kept = self._used if len(self._kept | self._used) > MOST else self._kept | self._used
        with contextlib.suppress(OSError, ValueError):
            _write(self._path, kept)


def path_beside(module_file: str) -> str:
    """Where the code is kept for the package of that module."""
    directory = os.path.dirname(importlib.util.cache_from_source(module_file))  # noqa: PTH120  # pathlib costs a start
    return os.path.join(directory, f"dataclasses.{sys.implementation.cache_tag}.marshal")  # noqa: PTH118


def _read(path: str) -> Texts:
    """What is kept there, nothing where it is of another Python or cannot be read."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            if file.read(len(importlib.util.MAGIC_NUMBER)) == importlib.util.MAGIC_NUMBER:
                found = marshal.loads(file.read())
                return found if isinstance(found, dict) else {}
    except (OSError, EOFError, ValueError, TypeError):
        pass
    return {}


def _write(path: str, kept: Mapping[tuple[str, str], CodeType]) -> None:
    """In one step, so that nobody reads half of it."""
    partly = f"{path}.{os.getpid()}"
    with open(os.open(partly, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "wb") as file:  # noqa: PTH123
        file.write(importlib.util.MAGIC_NUMBER + marshal.dumps(dict(kept)))
    os.replace(partly, path)  # noqa: PTH105
