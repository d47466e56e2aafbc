"""What a start imports: milliseconds by module, and what a throw-away server takes with the command that it runs.

    python -m tests.benchmarks.imports [--rounds 5] [--single 20] [--keep | --later]

`python -X importtime` measures each module without what it imports in its turn; the least of the rounds counts, because
other processes on the machine only add to it. As in a start, no garbage is collected meanwhile. Modules of the server
are shown by folder, others by package. The command is `apiserver-gateway up -- true`, with its etcd; its time is the
least of the rounds, too, and so is that of a throw-away server as tests start it. `--later` shows instead what each
lazily imported part of tests/unit/later.py would add to a start.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Container
from pathlib import Path

from apiserver_gateway.testing import api_server
from tests.benchmarks.kept import Row, keep
from tests.benchmarks.stages import nanoseconds
from tests.unit.later import LATER

GROUP = "Imports of a start"
OWN = frozenset({"gateway", "storage", "apiserver_gateway"})
SHOWN = 25  # folders and packages
KEPT = 8
COMMAND = (str(Path(sys.executable).with_name("apiserver-gateway")), "up", "--", "true")
_LINE = re.compile(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)")


def imported(rounds: int, module: str = "gateway.launch.process") -> dict[str, float]:
    """Milliseconds of each module that the import of one brings, itself included."""
    least: dict[str, float] = {}
    for _ in range(rounds):
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-c", f"import gc; gc.disable(); import {module}"],
            capture_output=True,
            text=True,
            check=True,
        )
        for microseconds, name in _LINE.findall(done.stderr):
            least[name] = min(least.get(name, float("inf")), int(microseconds) / 1000)
    return least


def added(part: str, begun: Container[str], rounds: int) -> float:
    """Milliseconds that the import of a part adds to a start, which imports the modules `begun`."""
    return sum(took for name, took in imported(rounds, f"gateway.launch.process, {part}").items() if name not in begun)


def by_room(modules: dict[str, float]) -> dict[str, float]:
    """Milliseconds by folder or package, most first."""
    found: dict[str, float] = defaultdict(float)
    for name, milliseconds in modules.items():
        parts = name.split(".")
        found[".".join(parts[:2]) if parts[0] in OWN else parts[0]] += milliseconds
    return dict(sorted(found.items(), key=lambda each: -each[1]))


def command(rounds: int) -> tuple[float, float]:
    """Seconds of the command until its end, and of CPU, etcd included."""
    took, spent = list[float](), list[float]()
    for _ in range(rounds):
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        subprocess.run(COMMAND, capture_output=True, check=True)
        took.append(time.monotonic() - began)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(took), min(spent)


def throw_away(rounds: int) -> tuple[float, float]:
    """Seconds until a throw-away server with its etcd is ready, and of the server's CPU."""
    took, spent = list[float](), list[float]()
    for _ in range(rounds):
        with api_server() as server:
            took.append(server.start_seconds)
            spent.append(sum(nanoseconds(server.pid)) / 1e9)
    return min(took), min(spent)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--single", type=int, default=20, help="how many single modules to show")
    parser.add_argument("--keep", action="store_true", help="write the rows for docs/performance/measurements.md")
    parser.add_argument("--later", action="store_true", help="measure the lazily imported parts")
    options = parser.parse_args()
    if options.later:
        begun = imported(1)
        for milliseconds, part in sorted((added(part, begun, options.rounds), part) for part in LATER):
            print(f"{part:60s}{milliseconds:8.2f} ms", flush=True)
        return
    modules = imported(options.rounds)
    rooms, whole = by_room(modules), sum(modules.values())
    for name, milliseconds in list(rooms.items())[:SHOWN]:
        print(f"{name:40s}{milliseconds:8.1f} ms")
    print(f"\n{'all ' + str(len(modules)) + ' modules':40s}{whole:8.1f} ms\n")
    for name, milliseconds in sorted(modules.items(), key=lambda each: -each[1])[: options.single]:
        print(f"{name:40s}{milliseconds:8.1f} ms")
    took, spent = command(options.rounds)
    print(f"\n{' '.join(('apiserver-gateway', *COMMAND[1:]))}: {took:.2f} s, {spent:.2f} s of CPU")
    ready, cpu = throw_away(options.rounds)
    print(f"a throw-away server: ready after {ready:.2f} s, {cpu:.2f} s of CPU")
    if options.keep:
        rows = [Row(GROUP, "all modules", whole, "ms", at_most=400)]
        rows += [Row(GROUP, name, milliseconds, "ms") for name, milliseconds in list(rooms.items())[:KEPT]]
        rows += [
            Row(GROUP, "apiserver-gateway up -- true, CPU with etcd", spent, "s", at_most=0.8),
            Row(GROUP, "throw-away server, CPU", cpu, "s", at_most=0.5),
        ]
        if os.getloadavg()[0] < 2 * (os.cpu_count() or 1):  # else they say more of the machine
            rows += [
                Row(GROUP, "apiserver-gateway up -- true", took, "s", at_most=0.8),
                Row(GROUP, "throw-away server, ready", ready, "s", at_most=0.5),
            ]
        keep(rows, f"`python -m tests.benchmarks.imports`, least of {options.rounds}, load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
