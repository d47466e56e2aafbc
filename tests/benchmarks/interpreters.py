"""What a request costs on one interpreter beside others: CPU time of servers of this tree, as ratios to the first one.

    python -m tests.benchmarks.interpreters PYTHON PYTHON ... [--rounds 9] [--only WORD] [--objects 5000] [--keep WORDS]

Each PYTHON is an interpreter that has what the server needs: that of a virtual environment into which this tree was
installed. All serve at once and take turns in slices, forwards and backwards, as in tests/benchmarks/compare.py; so
what else the machine does changes ratios little. `--keep` keeps the means; WORDS say what the machine did besides.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from tests.benchmarks.compare import Case, Clients, cases, fill, one_slice, serve
from tests.benchmarks.kept import Row, keep

TREE = Path(__file__).resolve().parents[2]
STARTS = 5
_VERSION = (
    "import sys, sysconfig; print(sys.version.split()[0] + 't' * bool(sysconfig.get_config_var('Py_GIL_DISABLED')))"
)


def version(python: str) -> str:
    """The version of an interpreter, "3.13.5", with a "t" where it has no GIL."""
    return subprocess.run([python, "-c", _VERSION], check=True, capture_output=True, text=True).stdout.strip()


def started(pythons: Sequence[str], directory: Path) -> list[float]:
    """Milliseconds of CPU until each is ready: the least of several starts, made in turn."""
    took: list[list[float]] = [[] for _ in pythons]
    for turn in range(STARTS):
        for which, python in enumerate(pythons):
            with ExitStack() as stack:
                server = serve(TREE, directory / f"start-{which}-{turn}", stack, python=python)
                took[which].append(server.cpu() / 1e6)
    return [min(each) for each in took]


def resident(pid: int) -> float:
    """The resident memory of a process in MB."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))


async def measured(case: Case, all_of_them: Sequence[Clients], rounds: int) -> list[list[float]]:
    """Microseconds of each round of each server."""
    took: list[list[float]] = [[] for _ in all_of_them]
    turns = [*range(len(all_of_them)), *reversed(range(len(all_of_them)))]
    for number in range(-1, rounds):
        found = [0.0] * len(all_of_them)
        for turn, which in enumerate(turns):
            found[which] += await one_slice(case, all_of_them[which], (number + 1) * len(turns) + turn) / 2
        if number >= 0:  # the first one warms up
            for each, one in zip(took, found, strict=True):
                each.append(one)
    return took


def ratios(took: Sequence[Sequence[float]]) -> list[float]:
    """The median ratio of each server to the first one."""
    return [statistics.median(mine / first for mine, first in zip(each, took[0], strict=True)) for each in took]


def shown(name: str, numbers: Sequence[float], compared: Sequence[float]) -> None:
    """Prints a line: the number and the ratio of each server."""
    columns = "".join(f"{number:11.1f}{ratio:7.3f}" for number, ratio in zip(numbers, compared, strict=True))
    print(f"{name:28s}{columns}", flush=True)


async def run(options: argparse.Namespace, all_of_them: Sequence[Clients]) -> dict[str, list[float]]:
    """The ratios of each case."""
    for each in all_of_them:
        await fill(each, options.objects)
    found: dict[str, list[float]] = {}
    for case in cases(options.objects):
        if options.only and not any(word in case.name for word in options.only.split(",")):
            continue
        took = await measured(case, all_of_them, options.rounds)
        found[case.name] = ratios(took)
        shown(case.name, [statistics.median(each) for each in took], found[case.name])
    means = [statistics.geometric_mean(column) for column in zip(*found.values(), strict=True)]
    shown("geometric mean", [0.0] * len(means), means)
    memory = [resident(each.server.pid) for each in all_of_them]
    shown("resident after it, MB", memory, [each / memory[0] for each in memory])
    return {"CPU of a request": means, "memory": [each / memory[0] for each in memory]}


def kept(names: Sequence[str], found: dict[str, list[float]], conditions: str) -> None:
    """Stores the ratios of each interpreter to the first one."""
    rows = [
        Row("Interpreters", f"{what}, {name} / {names[0]}", round(ratio, 3), "times")
        for what, compared in found.items()
        for name, ratio in list(zip(names, compared, strict=True))[1:]
    ]
    keep(rows, f"python -m tests.benchmarks.interpreters; {conditions}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pythons", nargs="+", metavar="PYTHON")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--objects", type=int, default=5000)
    parser.add_argument("--only", default="", help="words, separated by commas; a case whose name has one is measured")
    parser.add_argument("--keep", metavar="WORDS", help="keep the means, with these conditions")
    options = parser.parse_args()
    names = [version(python) for python in options.pythons]
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        print(f"{'microseconds of CPU, medians':28s}" + "".join(f"{name:>11s}  ratio" for name in names), flush=True)
        starts = started(options.pythons, directory)
        shown("start, milliseconds, least", starts, [each / starts[0] for each in starts])
        servers = [serve(TREE, directory / str(at), stack, python=each) for at, each in enumerate(options.pythons)]
        found = asyncio.run(run(options, [Clients(each) for each in servers]))
        found["CPU of a start"] = [each / starts[0] for each in starts]
    if options.keep:
        kept(names, found, options.keep)


if __name__ == "__main__":
    main()
