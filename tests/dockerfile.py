"""deploy/Dockerfile, read: its instructions, by stages."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "deploy" / "Dockerfile").read_text()
IGNORED = (ROOT / ".dockerignore").read_text().split()

Stage = list[tuple[str, str]]


def instructions() -> Stage:
    """Each instruction and what it is given."""
    joined = re.sub(r"\\\n\s*", " ", re.sub(r"^#.*\n", "", TEXT, flags=re.MULTILINE))
    return [(line.split()[0], line.partition(" ")[2].strip()) for line in joined.splitlines() if line.strip()]


def stages() -> list[Stage]:
    """The instructions of each stage, its FROM first."""
    found: list[Stage] = []
    for name, given in instructions():
        if name == "FROM":
            found.append([])
        if found:
            found[-1].append((name, given))
    return found


def given(stage: Stage, name: str) -> list[str]:
    """What the instructions of that name are given."""
    return [text for found, text in stage if found == name]
