"""make bench: the gateway beside a bare ASGI function and beside grpcio alone, as ratios within one run.

    python -m tests.benchmarks [--objects 5000] [--seconds 4] [--rounds 3] [--only WORD]

One worker, TLS, token authentication. "raw" returns the same bytes from a bare ASGI function under the same uvicorn
settings; "direct" is grpcio alone, doing the transaction that a create does with the same bytes.
"""

from __future__ import annotations

import argparse
import tempfile
from contextlib import ExitStack
from pathlib import Path

from tests.benchmarks import custom, decisions, deletion, representations, starting
from tests.benchmarks.bench import Bench, prepare
from tests.benchmarks.cases import definitions, gadgets, reads, watches, writes
from tests.benchmarks.objects import TOKEN


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=5000)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument(
        "--peer", default="", help="URL of a kube-apiserver with its controller-manager, to compare with"
    )
    parser.add_argument("--peer-token", default="tok")
    options = parser.parse_args()
    if not options.only or options.only in "start, stop, snapshot, restore":
        starting.report(options.rounds * 3)
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        bench = Bench(options, directory)
        gateway = prepare(bench, stack)
        size = len(bench.fetch(bench.pods("?resourceVersion=0"))) / (1 << 20)
        print(f"{options.objects} pods, {size:.1f} MB as a list; resident {custom.resident_megabytes(gateway):.0f} MB")
        print(f"{'':54s}{'ours':>12s}{'other':>12s}{'ratio':>8s}{'target':>8s}")
        reads(bench)
        writes(bench)
        representations.lists(bench)
        representations.watches(bench)
        gadgets(bench)
        watches(bench)
        decisions.main()
        deletion.report((bench.ours, TOKEN), (options.peer, options.peer_token), options.only)
        print(f"resident in the end: {custom.resident_megabytes(gateway):.0f} MB")
        definitions(bench, gateway, stack)


if __name__ == "__main__":
    main()
