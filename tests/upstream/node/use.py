"""What a process and its descendants use: CPU time, and memory at its highest."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_DATABASE = "etcd"  # counts for no server, whose child it may be


@dataclass(frozen=True)
class Use:
    """CPU seconds, and the sum of the processes' peaks of resident memory in MiB."""

    cpu: float
    memory: float


def used(process: int) -> Use:
    """What the process and those that it started have used; those that have ended count for CPU time alone."""
    cpu = memory = 0.0
    for each in _tree(process):
        with contextlib.suppress(OSError):
            place = Path(f"/proc/{each}")
            # user, system, and the same of children that have ended
            cpu += sum(map(int, (place / "stat").read_text().rpartition(")")[2].split()[11:15])) / _TICKS
            peak = next(line for line in (place / "status").read_text().splitlines() if line.startswith("VmHWM:"))
            memory += int(peak.split()[1]) / 1024
    return Use(cpu, memory)


def _tree(process: int) -> Iterator[int]:
    with contextlib.suppress(OSError):
        if Path(f"/proc/{process}/comm").read_text().strip() == _DATABASE:
            return
        yield process
        for children in Path(f"/proc/{process}/task").glob("*/children"):
            for child in children.read_text().split():
                yield from _tree(int(child))
