"""No pattern that matches texts of clients takes time that grows with the square of the text.

Python's `re` blocks the event loop while it matches.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from typing import Any

import pytest

import gateway
import storage
from tests.hostile.doubling import cpu
from tests.limits import at_most_cpu, least

COUNT = 1500  # repetitions: what takes the square of that is told from what does not
PUMPS = (
    *"0a.-:/%'\"\\ ,=[{(\n_e+x#@~é",
    "a.",
    "0.",
    "-a",
    "0 ",
    "a,",
    "\\.",
    "0x",
    "1e",
    "a=",
    "a/",
    "a:",
    "::",
    "{a}",
    "$(",
    "-----BEGIN A-----\n",
    "-----BEGIN CERTIFICATE-----",
    "-----",
    "'a",
    "\\u0000",
    "0h",
    "--- ",
    "A",
)
STARTS = ("", "-", "a", "iqn.2001-01.", "1", "-----BEGIN A-----\n", "v1", '"', "'")
ENDS = ("", "!", "\n", "\x00")
# what runs on texts that no client writes
TRUSTED = frozenset({"gateway.schema.descriptions", "storage.versions"})


def _modules() -> Iterator[Any]:
    for package in (gateway, storage):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.endswith("__main__") and "generated" not in found.name and found.name not in TRUSTED:
                try:
                    yield importlib.import_module(found.name)
                except ImportError:  # what an extra brings
                    continue


def _patterns() -> dict[str, Any]:
    """What a module matches with: a pattern's `search`, or one of its methods where the module keeps that."""
    found = {}
    for module in _modules():
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern):
                found[f"{module.__name__}.{name}"] = value.search
            elif isinstance(getattr(value, "__self__", None), re.Pattern) and value.__name__ != "sub":
                found[f"{module.__name__}.{name}"] = value
    return found


PATTERNS = _patterns()


MOST = 0.03  # seconds


@pytest.mark.parametrize("name", sorted(PATTERNS))
def test_a_pattern_takes_time_that_grows_with_the_text(name: str) -> None:
    match = PATTERNS[name]
    binary = isinstance(match.__self__.pattern, bytes)
    for pump in PUMPS:
        for start in STARTS:
            for end in ENDS:
                text: Any = start + pump * COUNT + end
                looked_at = text.encode() if binary else text
                took = cpu(lambda: match(looked_at))  # noqa: B023
                if took > MOST:  # the collector of garbage may have come
                    took = least(lambda: cpu(lambda: match(looked_at)))  # noqa: B023
                words = f"{start!r} + {pump!r}… + {end!r}: {{found:.2f}} s, {{limit:.2f}} s are allowed"
                at_most_cpu(took, MOST, words)
