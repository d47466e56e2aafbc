"""Where the CPU time of a create goes: microseconds by stage, of a real server on a real etcd.

    python -m tests.benchmarks.stages [--slices 60] [--only "create pod"] [--keep]

The server's main thread is sampled by its CPU time (sampled.py); what that comes to is measured without the samples, in
slices in between, by the kernel (schedstat). gRPC's own threads are a row of their own, and etcd is one that is not
part of the sum.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from tests.benchmarks import sampled
from tests.benchmarks.compare import CONNECTIONS, Case, Clients, cases, fill, serve
from tests.benchmarks.kept import Row, keep

CASES = ("create ConfigMap", "create pod", "create varied pod")
SHOWN = "create pod"  # whose stages are kept
OBJECTS = 300
_SETTLED = 4.0  # seconds after which a start is over


@dataclass
class Costs:
    """The costs of one case: samples by stage, and microseconds per request of the main thread, of gRPC's threads and
    of etcd.
    """

    samples: Counter[str] = field(default_factory=Counter)
    main: float = 0.0
    threads: float = 0.0
    etcd: float = 0.0

    def of(self, stage: str) -> float:
        """Microseconds of a stage."""
        return self.main * self.samples[stage] / max(1, self.samples.total())

    @property
    def together(self) -> float:
        """Of the server."""
        return self.main + self.threads


def nanoseconds(pid: int) -> tuple[int, int]:
    """The run time of a process' main thread, and of its other threads, in nanoseconds."""
    ran = {
        int(task.parent.name): int(task.read_text(encoding="ascii").split()[0])
        for task in Path(f"/proc/{pid}/task").glob("*/schedstat")
    }
    return ran[pid], sum(ran.values()) - ran[pid]


def etcd_of(pid: int) -> int:
    """The process of a server's embedded etcd."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, fields = stat.read_text().rpartition(")")[0], stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if name.endswith("(etcd") and _is_below(int(fields[1]), pid):
            return int(stat.parent.name)
    raise SystemExit("the server has no etcd")


def _is_below(process: int, ancestor: int) -> bool:
    while process > 1:
        if process == ancestor:
            return True
        process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    return False


def written(out: Path) -> dict[str, int]:
    """Waits for the samples that a server writes to a file, and returns them."""
    while not out.exists():
        time.sleep(0.02)
    found: dict[str, int] = json.loads(out.read_text(encoding="utf-8"))
    out.unlink()
    return found


async def settle() -> None:
    """Waits until a start is over."""
    await asyncio.sleep(_SETTLED)


async def costs_of(case: Case, clients: Clients, etcd: int, out: Path, slices: int) -> Costs:
    """Measures a case; every second slice is sampled."""
    pid, found = clients.server.pid, Costs()
    sent = main = threads = etcds = 0
    for number in range(-4, slices):
        requests = list(case.requests(number + 4))
        if number >= 0 and number % 2:
            os.kill(pid, signal.SIGUSR1)
            await clients.send(requests, case.media_type)
            os.kill(pid, signal.SIGUSR2)
            found.samples.update(await asyncio.to_thread(written, out))
            continue
        before, before_etcd = nanoseconds(pid), sum(nanoseconds(etcd))
        await clients.send(requests, case.media_type)
        after, after_etcd = nanoseconds(pid), sum(nanoseconds(etcd))
        if number >= 0:  # the first ones compile what all use
            sent += len(requests)
            main, threads = main + after[0] - before[0], threads + after[1] - before[1]
            etcds += after_etcd - before_etcd
    found.main, found.threads, found.etcd = (each / sent / 1000 for each in (main, threads, etcds))
    return found


async def measure(clients: Clients, out: Path, options: argparse.Namespace) -> dict[str, Costs]:
    """All cases."""
    await fill(clients, OBJECTS)
    await settle()
    etcd = etcd_of(clients.server.pid)
    wanted = [case for case in cases(OBJECTS) if case.name in CASES and options.only in case.name]
    return {case.name: await costs_of(case, clients, etcd, out, options.slices) for case in wanted}


def table(found: dict[str, Costs]) -> str:
    """The costs as a table in Markdown."""
    lines = [f"| microseconds of CPU | {' | '.join(found)} |", "|---|" + "---:|" * len(found)]

    def add(name: str, values: list[float], digits: int = 0) -> None:
        lines.append(f"| {name} | {' | '.join(f'{value:.{digits}f}' for value in values)} |")

    every = list(found.values())
    for stage in (*sampled.STAGES, sampled.REST):
        add(stage, [each.of(stage) for each in every])
    add("gRPC's threads", [each.threads for each in every])
    add("**the server together**", [each.together for each in every])
    add("etcd, beside it", [each.etcd for each in every])
    add("creates a second of one core", [1e6 / each.together for each in every])
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slices", type=int, default=60)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", action="store_true", help="keep the sums for docs/performance/measurements.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack:
        out = Path(directory) / "samples.json"
        program, environment = (sampled.__file__,), {"PROFILE_OUT": str(out)}
        server = serve(Path.cwd(), Path(directory) / "served", stack, program, environment)
        found = asyncio.run(measure(Clients(server), out, options))
    print(table(found))
    if options.keep:
        rows = [Row("CPU of a create", name, each.together, "µs") for name, each in found.items()]
        for name in sorted({SHOWN} & found.keys()):
            stages = (*sampled.STAGES, sampled.REST)
            rows += [Row(f"Stages of a request: {name}", stage, found[name].of(stage), "µs") for stage in stages]
        said = f"{CONNECTIONS} connections, embedded etcd, load {os.getloadavg()[0]:.1f}"
        keep(rows, f"`tests.benchmarks.stages`, {said}")


if __name__ == "__main__":
    main()
