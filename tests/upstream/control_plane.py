"""Runs kube-controller-manager and kube-scheduler against a server and reads what they log.

    python -m tests.upstream control_plane [--minutes 10] [--server gateway | --server PATH-OF-KUBE-APISERVER]
        [--kubernetes-version 1.37] [--logs DIR]
    python -m tests.upstream control_plane --compare DIR OTHER-DIR

Both programs are taken from --programs or PATH, or built with Go from Kubernetes' published modules, and kept in the
cache directory. A Deployment, a Job and a StatefulSet are made and have to come to bound pods; a fake kubelet keeps two
nodes ready, and runs and ends their pods. What the programs warn of is told by its place in their source, with how
often it came, and the run fails when one of them could not decode something, or the pods were not bound.
--compare tells which complaints one run had and another had not.
"""

from __future__ import annotations

import argparse
import collections
import re
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from tests.upstream import PEER
from tests.upstream.controlplane.kubelet import Kubelet
from tests.upstream.controlplane.programs import program
from tests.upstream.controlplane.server import Server, gateway, kube_apiserver
from tests.upstream.controlplane.workloads import OBJECTS, Missing, await_bound

DECODING = re.compile(
    r"decod|unmarshal|no kind .* is registered|proto:|unexpected (EOF|object|type)|serializ|invalid character", re.I
)
COMPLAINT = re.compile(r"^([EWF])\d{4} \S+ +\d+ ([\w.]+:\d+)\] (.*)")
_VARYING = re.compile(r'"[^"]*"|0x[0-9a-f]+|\b[0-9a-f]{8}-[0-9a-f-]{27}\b|\d+')


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--server", default="gateway")
    parser.add_argument("--kubernetes-version", default=PEER, help="the minor that the gateway serves")
    parser.add_argument("--programs", type=Path, help="where kube-controller-manager and kube-scheduler are")
    parser.add_argument("--logs", type=Path, default=None)
    parser.add_argument("--compare", type=Path, nargs=2, metavar="DIR")
    options = parser.parse_args(words)
    if options.compare:
        return compare(*options.compare)
    logs = options.logs or Path(tempfile.mkdtemp(prefix="control-plane-"))
    logs.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        version = options.kubernetes_version
        start = (
            partial(gateway, version=version) if options.server == "gateway" else kube_apiserver(Path(options.server))
        )
        server = stack.enter_context(start(logs))
        bound = run(server, logs, options.minutes * 60, options.programs)
    found = complaints(logs)
    for (severity, place), lines in sorted(found.items()):
        print(f"{severity} {place:45s}{len(lines):6d}  {lines[0][:160]}")
    undecoded = [line for lines in found.values() for line in lines if DECODING.search(line)]
    for line in undecoded[:20]:
        print(f"could not decode: {line[:400]}")
    print(f"{'all' if bound else 'NOT all'} pods were bound; {len(undecoded)} decode errors; logs are in {logs}")
    return 0 if bound and not undecoded else 1


def run(server: Server, logs: Path, seconds: float, programs: Path | None) -> bool:
    """Runs the programs for so long; whether all workloads came to bound pods, at first and once they were changed."""
    ends = time.monotonic() + seconds
    with ExitStack() as stack:
        for name, flags in server.flags.items():
            log = stack.enter_context((logs / f"{name}.log").open("wb"))
            command = [str(program(name, programs)), *flags]
            process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
            stack.callback(process.wait)
            stack.callback(process.terminate)
        stopping = threading.Event()
        kubelet = threading.Thread(target=Kubelet(server).run, args=(stopping,))
        kubelet.start()
        stack.callback(kubelet.join)
        stack.callback(stopping.set)
        rounds = 0
        try:
            while not rounds or time.monotonic() < ends - 60:
                rounds += 1
                await_bound(server, rounds)
                print(f"round {rounds}: {len(OBJECTS)} workloads have their pods", flush=True)
                time.sleep(max(0.0, min(30.0, ends - time.monotonic())))
        except Missing as missing:
            print(missing)
            return False
        time.sleep(max(0.0, ends - time.monotonic()))
    return True


def complaints(logs: Path) -> dict[tuple[str, str], list[str]]:
    """Errors and warnings in the programs' logs, by severity and place in the source."""
    found = collections.defaultdict[tuple[str, str], list[str]](list)
    for log in sorted(logs.glob("kube-*.log")):
        for line in log.read_text(errors="replace").splitlines():
            if match := COMPLAINT.match(line):
                found[match[1], f"{log.stem}:{match[2]}"].append(match[3])
            elif line.startswith("panic:"):
                found["F", f"{log.stem}:panic"].append(line)
    return found


def compare(one: Path, other: Path) -> int:
    """Prints what only the first run complained of, in the programs' own words but for names and numbers."""
    texts = [
        {(place, _VARYING.sub("…", line)): line for (_, place), lines in complaints(logs).items() for line in lines}
        for logs in (one, other)
    ]
    for key in sorted(texts[0].keys() - texts[1].keys()):
        print(f"only in {one}: {key[0]}: {texts[0][key][:400]}")
    for key in sorted(texts[1].keys() - texts[0].keys()):
        print(f"only in {other}: {key[0]}: {texts[1][key][:400]}")
    return 0
