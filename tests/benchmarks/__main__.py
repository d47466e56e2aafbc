"""make bench: the gateway beside a bare ASGI function and beside its own etcd client, as ratios within one run.

    python -m tests.benchmarks [--objects 5000] [--seconds 4] [--rounds 3] [--secrets 20000] [--only WORD]
        [--json FILE]

One worker, TLS, token authentication. "raw" returns the same bytes from a bare ASGI function under the same uvicorn
settings; "direct" is the etcd client alone, doing the transaction that a create does with the same bytes. Of what
--json has written, tests.benchmarks.page makes docs/performance/measurements.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import tempfile
from contextlib import ExitStack
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from tests.benchmarks import (
    allowed,
    configured,
    custom,
    decisions,
    deletion,
    encrypted,
    guarded,
    recording,
    representations,
    starting,
)
from tests.benchmarks.bench import Bench, prepare
from tests.benchmarks.cases import definitions, gadgets, reads, watches, writes
from tests.benchmarks.objects import TOKEN


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=5000)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--secrets", type=int, default=20_000, help="of the servers with and without encryption")
    parser.add_argument("--only", default="")
    parser.add_argument(
        "--peer", default="", help="URL of a kube-apiserver with its controller-manager, to compare with"
    )
    parser.add_argument("--peer-token", default="tok")
    parser.add_argument("--json", type=Path, help="write what was measured here, too")
    options = parser.parse_args()
    times: list[dict[str, object]] = []
    if not options.only or options.only in "start, stop, snapshot, restore":
        times = starting.report(options.rounds * 3)
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        bench = Bench(options, directory)
        if options.json:
            options.json.parent.mkdir(parents=True, exist_ok=True)
            stack.callback(lambda: _keep(options, times, bench))  # what there is, even when the rest fails
        gateway = prepare(bench, stack)
        size = len(bench.fetch(bench.pods("?resourceVersion=0"))) / (1 << 20)
        print(f"{options.objects} pods, {size:.1f} MB as a list; resident {custom.resident_megabytes(gateway):.0f} MB")
        print(f"{'':54s}{'ours':>12s}{'other':>12s}{'ratio':>8s}{'target':>8s}")
        reads(bench)
        writes(bench)
        guarded.report(bench)
        configured.report(bench)
        representations.lists(bench)
        representations.watches(bench)
        gadgets(bench)
        watches(bench)
        decisions.main()
        allowed.report(bench, stack)
        recording.report(bench, stack)
        encrypted.report(bench, stack)
        deletion.report((bench.ours, TOKEN), (options.peer, options.peer_token), options.only)
        print(f"resident in the end: {custom.resident_megabytes(gateway):.0f} MB")
        definitions(bench, stack)


def _keep(options: argparse.Namespace, times: list[dict[str, object]], bench: Bench) -> None:
    said = ["git", "describe", "--tags", "--always", "--dirty"]
    measured = {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "version": version("apiserver-gateway"),
        "commit": subprocess.run(said, capture_output=True, text=True, check=False).stdout.strip(),
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "objects": options.objects,
        "load": round(os.getloadavg()[1], 1),
        "only": options.only,
        "times": times,
        "rates": bench.shown,
    }
    options.json.write_text(json.dumps(measured, indent=1) + "\n")


if __name__ == "__main__":
    main()
