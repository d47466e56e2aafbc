"""Records which test evaluates which rule: mutate.py puts calls of `reached` into a copy of the tree.

In a process of pytest the test is TEST, which tests/upstream/reaching.py sets. A server learns it from a file.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

FILE = os.environ.get("APISERVER_GATEWAY_REACHED", "")  # a line for each rule and test
NOW = "APISERVER_GATEWAY_TEST_NOW"  # names the file that holds the ID of the test that runs
IMPORTED = "before any test"  # while tests are collected
OFTEN = 0.005  # seconds after which a server asks anew which test runs

test = ""
_told = set[tuple[int, str]]()
_looked: dict[int, float] = {}


def reached(rule: int) -> None:
    """Called before the rule of this number is evaluated."""
    if test:
        if (rule, test) not in _told:
            _tell(rule, test)
    elif NOW in os.environ and time.monotonic() >= _looked.get(rule, 0.0):
        _looked[rule] = time.monotonic() + OFTEN
        found = Path(os.environ[NOW]).read_text(encoding="utf-8") or IMPORTED
        if (rule, found) not in _told:
            _tell(rule, found)


def _tell(rule: int, found: str) -> None:
    _told.add((rule, found))
    with Path(FILE).open("a", encoding="utf-8") as file:
        file.write(json.dumps([rule, found]) + "\n")
