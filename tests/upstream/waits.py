"""How long scenarios wait: the longest begin first, so that no long one is left for the end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

READS: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # some 400 files are read
WATCH, UPGRADE = 3, 1  # seconds of a watch or of an upgraded connection that says nothing else


def longest_first(folders: Iterable[Path]) -> list[Path]:
    """The scenario files in these folders, in the order in which they should begin."""
    files = [file for folder in folders for file in sorted(folder.rglob("*.yaml"))]
    return sorted(files, key=lambda file: -waits(yaml.load(file.read_bytes(), READS)))


def waits(scenario: Mapping[str, Any]) -> float:
    """The seconds for which a scenario's steps wait at least: they sleep, or watch until a time is over."""
    seconds, ends = 0.0, 0.0
    for step in scenario["steps"]:
        watched = step.get("seconds", WATCH) if "watch" in step and "max" not in step else 0
        if step.get("background"):
            ends = max(ends, seconds + watched)
        else:
            seconds += watched
        if "collect" in step:
            seconds = max(seconds, ends)
        seconds += step.get("sleep", 0) + (step.get("seconds", UPGRADE) if "upgrade" in step else 0)
    return seconds
