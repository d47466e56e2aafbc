"""What a request costs beside a kube-apiserver: CPU time of the two servers, as ratios.

    python -m tests.benchmarks.beside KUBE-APISERVER [--rounds 7] [--objects 1000] [--only WORD] [--keep]

Both serve from etcds of their own, and take turns as in tests.benchmarks.compare. What is compared is the time for
which the threads of a server ran. So a busy machine matters less than for rates, which are those of all who use it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import tempfile
from contextlib import ExitStack
from pathlib import Path

from storage.embedded import EmbeddedEtcd
from tests.benchmarks import peer
from tests.benchmarks.compare import CONNECTIONS, Clients, Server, cases, compare, fill, serve
from tests.benchmarks.kept import Row, keep
from tests.benchmarks.objects import TOKEN

GROUP = "CPU of a request"
LIMITS: dict[str, float | None] = {
    "GET rv=0": None,
    "create ConfigMap": None,
    "create pod": 0.45,
    "create varied pod": None,
    "merge patch pod": 0.33,
    "patch status": None,
    "apply, changed": None,
    "delete ConfigMap": None,
}
"""The cases, and the most that the ratio may be."""


def beside(program: Path, directory: Path, stack: ExitStack) -> Server:
    """A running kube-apiserver on an etcd of its own, which knows the token of the cases, too."""
    directory.mkdir()
    tokens = directory / "all-tokens.csv"
    tokens.write_text(f"{TOKEN},one,1,system:masters\n{peer.TOKEN},two,2,system:masters\n", encoding="ascii")
    etcd = stack.enter_context(EmbeddedEtcd(None)).endpoint
    flags = (f"--token-auth-file={tokens}",)
    found = stack.enter_context(peer.kube_apiserver(program, directory, etcd, flags))
    return Server(found.url, found.pid)


async def measure(ours: Server, other: Server, options: argparse.Namespace) -> list[Row]:
    """The rows of all cases, which are printed, too."""
    both = Clients(other), Clients(ours)
    for each in both:
        await fill(each, options.objects)
    print(f"{'microseconds of CPU, medians':28s}{'kube-apiserver':>16s}{'gateway':>10s}{'ratio':>8s}", flush=True)
    rows: list[Row] = []
    for case in cases(options.objects):
        if case.name not in LIMITS or options.only not in case.name:
            continue
        theirs, mine = await compare(case, both, options.rounds)
        row = Row(
            GROUP, case.name, statistics.median(mine), "µs", "kube-apiserver", statistics.median(theirs),
            at_most=LIMITS[case.name], limits_ratio=LIMITS[case.name] is not None,
        )  # fmt: skip
        print(f"{case.name:28s}{row.beside:16.1f}{row.ours:10.1f}{row.ratio:8.2f}", flush=True)
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path, help="the kube-apiserver")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--objects", type=int, default=1000)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", action="store_true", help="keep the rows for docs/performance/measurements.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack:
        other = beside(options.program, Path(directory) / "other", stack)
        ours = serve(Path.cwd(), Path(directory) / "ours", stack)
        rows = asyncio.run(measure(ours, other, options))
    if options.keep:
        said = f"{CONNECTIONS} connections, medians of {options.rounds}, load {os.getloadavg()[0]:.0f}"
        keep(rows, f"`tests.benchmarks.beside`, {said}")


if __name__ == "__main__":
    main()
