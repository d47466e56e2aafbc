"""What a request, a start and the memory cost under each minor beside the first one: CPU time, as ratios in one run.

    python -m tests.benchmarks.minors 1.36 1.37 [--rounds 9] [--starts 9] [--only WORD] [--objects 5000] [--keep WORDS]

All serve at once and take turns in slices, forwards and backwards, as in tests/benchmarks/compare.py; so what else the
machine does changes ratios little. The starts take turns, too. `--keep` keeps the ratios; WORDS say what the machine
did besides. The exit status is 1 if a minor takes over 3 % more CPU in a case (by the median of the ratios and by the
least of all rounds), over 3 % more memory, or a start over 5 ms more CPU.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.compare import LIMIT, Clients, cases, fill, serve
from tests.benchmarks.interpreters import TREE, measured, resident
from tests.benchmarks.kept import Row, keep

GROUP = "Minors of Kubernetes"
MOST_START = 5.0  # milliseconds of CPU


@dataclass(frozen=True, slots=True)
class Found:
    """A number of a minor and of the first one. `least` is the ratio of the least of all rounds."""

    name: str
    number: float
    first: float
    ratio: float
    least: float
    unit: str
    limit: float = LIMIT

    @property
    def holds(self) -> bool:
        return min(self.ratio, self.least) <= self.limit


def flag(minor: str) -> list[str]:
    """The flag of a server that serves a minor."""
    return [f"--kubernetes-version={minor}"]


def beside(name: str, took: Sequence[Sequence[float]], unit: str) -> list[Found]:
    """A measurement of each minor beside that of the first one; prints them."""
    first, found = took[0], []
    for mine in took[1:]:
        ratio = statistics.median(one / other for one, other in zip(mine, first, strict=True))
        middles = statistics.median(mine), statistics.median(first)
        found.append(Found(name, *middles, ratio, min(mine) / min(first), unit))
    columns = "".join(f"{each.number:12.1f}{each.ratio:8.3f}{each.least:8.3f}" for each in found)
    print(f"{name:36s}{statistics.median(first):12.1f}{columns}", flush=True)
    return found


def started(minors: Sequence[str], directory: Path, starts: int) -> tuple[list[list[float]], list[list[float]]]:
    """Milliseconds of CPU until each is ready, and its memory in MB then, of several starts that take turns."""
    took: list[list[float]] = [[] for _ in minors]
    memory: list[list[float]] = [[] for _ in minors]
    for turn in range(starts):
        for which, minor in enumerate(minors):
            with ExitStack() as stack:
                server = serve(TREE, directory / f"start-{which}-{turn}", stack, flags=flag(minor))
                took[which].append(server.cpu() / 1e6)
                memory[which].append(resident(server.pid))
    return took, memory


async def run(options: argparse.Namespace, all_of_them: Sequence[Clients]) -> list[Found]:
    """All cases, and the memory after them."""
    for each in all_of_them:
        await fill(each, options.objects)
    found: list[Found] = []
    for case in cases(options.objects):
        if not options.only or any(word in case.name for word in options.only.split(",")):
            found += beside(case.name, await measured(case, all_of_them, options.rounds), "us")
    return found + beside("memory after the requests", [[resident(each.server.pid)] for each in all_of_them], "MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("minors", nargs="+", metavar="MINOR")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--starts", type=int, default=9)
    parser.add_argument("--objects", type=int, default=5000)
    parser.add_argument("--only", default="", help="words, separated by commas; a case whose name has one is measured")
    parser.add_argument("--keep", metavar="WORDS", help="keep the ratios of the last minor, with these conditions")
    options = parser.parse_args()
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        print(f"{'medians; ratio and ratio of the least':36s}{'':>4s}{' '.join(options.minors)}", flush=True)
        took, memory = started(options.minors, directory, options.starts)
        starts = beside("start, CPU", took, "ms")
        found = beside("memory after a start", memory, "MB")
        servers = [serve(TREE, directory / minor, stack, flags=flag(minor)) for minor in options.minors]
        found += asyncio.run(run(options, [Clients(each) for each in servers]))
    if options.keep:
        rows = [Row(GROUP, each.name, each.number, each.unit, options.minors[0], each.first) for each in starts + found]
        keep(rows, f"python -m tests.benchmarks.minors; {options.keep}")
    slow = [each.name for each in found if not each.holds]
    slow += [each.name for each, one in zip(starts, took[1:], strict=True) if min(one) > min(took[0]) + MOST_START]
    if slow:
        sys.exit(f"above the limits: {', '.join(slow)}")


if __name__ == "__main__":
    main()
