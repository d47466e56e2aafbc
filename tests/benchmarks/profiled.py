"""Serves as `python -m gateway` of the current directory does, and counts calls of functions between two signals.

SIGUSR1 begins; SIGUSR2 ends, and writes calls by function as JSON to the file that PROFILE_OUT names.
"""

from __future__ import annotations

import cProfile
import json
import os
import pstats
import runpy
import signal
from collections import Counter
from pathlib import Path
from typing import Any

_profiles: list[cProfile.Profile] = []


def _begin(*_: object) -> None:
    _profiles.append(cProfile.Profile())
    _profiles[-1].enable()


def _end(*_: object) -> None:
    profile = _profiles.pop()
    profile.disable()
    found, stats = Counter[str](), pstats.Stats(profile)
    known: dict[tuple[str, int, str], Any] = stats.stats  # type: ignore[attr-defined]  # the stubs leave it out
    for (file, _line, function), (_primitive, calls, *_times) in known.items():
        if "__new__ of type" in function:  # which names an address
            function = "__new__ of a type"
        found[function if file == "~" else f"{Path(file).name}:{function}"] += calls
    out = Path(os.environ["PROFILE_OUT"])
    out.with_suffix(".part").write_text(json.dumps(found), encoding="utf-8")
    out.with_suffix(".part").rename(out)


if __name__ == "__main__":
    signal.signal(signal.SIGUSR1, _begin)
    signal.signal(signal.SIGUSR2, _end)
    runpy.run_module("gateway", run_name="__main__")
