"""How many calls of functions a request costs in one work tree beside another, and which functions differ most.

    python -m tests.benchmarks.calls TREE_BEFORE TREE_AFTER [--only "create pod"] [--show 20]

Unlike times, counts are about the same whoever else uses the machine. They say where to look, and not how long it
takes: calls of Python's functions and of C's count alike.
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
from pathlib import Path

from tests.benchmarks import profiled
from tests.benchmarks.compare import Case, Clients, Server, cases, fill, serve

OBJECTS = 300
SLICES = 3
_SETTLED = 4.0  # seconds after which a start is over
_MARGIN = 0.3  # seconds for a signal to be seen, and for what a request leaves to be done


async def count(case: Case, clients: Clients, out: Path) -> Counter[str]:
    """The number of calls for one request, by function."""
    for number in range(1 + SLICES):
        if case.before is not None:
            await clients.send(case.before(number))
    await clients.send(case.requests(0), case.media_type)  # the first ones compile what all use
    os.kill(clients.server.pid, signal.SIGUSR1)
    await asyncio.sleep(_MARGIN)
    sent = 0
    for number in range(1, 1 + SLICES):
        sent += await clients.send(case.requests(number), case.media_type)
    await asyncio.sleep(_MARGIN)
    os.kill(clients.server.pid, signal.SIGUSR2)
    found = await asyncio.to_thread(_written, out)
    return Counter({name: calls / sent for name, calls in found.items()})


def _written(out: Path) -> dict[str, int]:
    """Waits for the counts that a server writes to a file, and returns them."""
    while not out.exists():
        time.sleep(0.05)
    found: dict[str, int] = json.loads(out.read_text(encoding="utf-8"))
    out.unlink()
    return found


async def counts(server: Server, out: Path, only: str) -> dict[str, Counter[str]]:
    """The calls of all cases without a watch, by name."""
    clients = Clients(server)
    await fill(clients, OBJECTS)
    await asyncio.sleep(_SETTLED)
    wanted = [case for case in cases(OBJECTS) if not case.watched and only in case.name]
    return {case.name: await count(case, clients, out) for case in wanted}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--show", type=int, default=0, help="functions of each case whose calls differ most")
    options = parser.parse_args()
    found = list[dict[str, Counter[str]]]()
    with tempfile.TemporaryDirectory() as directory:
        for tree in (options.before.resolve(), options.after.resolve()):
            with ExitStack() as stack:
                served, out = Path(directory) / str(len(found)), Path(directory) / "calls.json"
                server = serve(tree, served, stack, (profiled.__file__,), {"PROFILE_OUT": str(out)})
                found.append(asyncio.run(counts(server, out, options.only)))
    before, after = found
    print(f"{'calls of functions a request':28s}{'before':>10s}{'after':>10s}{'ratio':>8s}")
    for name in before:
        one, other = before[name], after[name]
        print(f"{name:28s}{one.total():10.1f}{other.total():10.1f}{other.total() / one.total():8.3f}")
        differing = sorted({*one, *other}, key=lambda each: -abs(other[each] - one[each]))
        for function in differing[: options.show]:
            print(f"    {other[function] - one[function]:+8.2f}  {function}")


if __name__ == "__main__":
    main()
