"""Starts a kube-apiserver, a kube-controller-manager and a gateway, and has the programs that compare two servers run.

    python -m tests.upstream beside [--programs DIR] [--seed N] [--cases N] [--only escalation,nodes,definitions]

`--programs` (or APISERVER_GATEWAY_KUBERNETES) is where kube-apiserver and kube-controller-manager are. What is compared
is said in tests/upstream/escalation.py, tests/upstream/kubelet_requests.py and tests/upstream/definition_fuzz. Exit 1
when one of them found a difference.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from apiserver_gateway.testing import api_server
from tests.upstream import PEER
from tests.upstream.controlplane.server import Refused, Server, kube_apiserver

TOP = Path(__file__).resolve().parents[2]
MANAGER = "kube-controller-manager"
ADMIN, NODE = "beside-admin", "beside-node"
PATIENCE = 120.0  # seconds
TOKENS = f"{ADMIN},admin,1,system:masters\n{NODE},system:node:a,2,system:nodes\n"
AUTHORIZATION = ("--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction")
CONTROLLERS = (
    "clusterrole-aggregation-controller,serviceaccount-controller,serviceaccount-token-controller,namespace-controller,"
    "garbage-collector-controller,certificatesigningrequest-signing-controller,"
    "certificatesigningrequest-approving-controller,persistentvolume-protection-controller,"
    "persistentvolumeclaim-protection-controller"
)


@contextmanager
def peer(programs: Path, directory: Path) -> Iterator[Server]:
    """A kube-apiserver with the controllers that the comparisons need."""
    start = kube_apiserver(programs / "kube-apiserver", [*AUTHORIZATION], f"{NODE},system:node:a,2,system:nodes")
    with start(directory) as server, (directory / "manager.log").open("wb") as log:
        flags = [*server.flags[MANAGER], f"--controllers={CONTROLLERS}", "--leader-elect=false"]
        flags += ["--kube-api-qps=500", "--kube-api-burst=500"]
        process = subprocess.Popen([programs / MANAGER, *flags], stdout=log, stderr=subprocess.STDOUT)
        try:
            yield server
        finally:
            process.terminate()
            process.wait()


def until_settled(server: Server) -> None:
    """Waits until a server has the default roles, and its controllers run. Raises Refused."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            server.ask("GET", "/api/v1/namespaces/default/serviceaccounts/default")
            server.ask("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/cluster-admin")
            return
        except (OSError, Refused):
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def comparisons(ours: tuple[str, str], theirs: tuple[str, str], seed: int, cases: int) -> dict[str, list[str]]:
    """The commands by name."""
    tool, both = (sys.executable, "-m", "tests.upstream"), [*ours, *theirs]
    fuzz = ["--peer", theirs[0], "--peer-token", theirs[1], "--ours", ours[0], "--ours-token", ours[1]]
    fuzz += ["--seed", str(seed), "--definitions", str(cases), "--kinds", str(max(2, cases // 20)), "--show", "10"]
    return {
        "nodes": [*tool, "kubelet_requests", *both, "--node-token", NODE],
        "escalation": [*tool, "escalation", *both, "--seed", str(seed), "--sequences", "3"],
        "definitions": [*tool, "definition_fuzz", *fuzz],
    }


def main(words: Sequence[str]) -> int:
    """Runs the comparisons one after another. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=Path, default=Path(os.environ.get("APISERVER_GATEWAY_KUBERNETES", ".")))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=100, help="CRDs that are created")
    parser.add_argument("--only", default="nodes,escalation,definitions")
    options = parser.parse_args(words)
    failed = []
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (directory / "tokens.csv").write_text(TOKENS)
        server = stack.enter_context(peer(options.programs, directory / "peer"))
        ours = stack.enter_context(
            api_server(*AUTHORIZATION, f"--token-auth-file={directory / 'tokens.csv'}", version=PEER)
        )
        for each in (server, Server(ours.url, ADMIN)):
            until_settled(each)
        commands = comparisons((ours.url, ADMIN), (server.url, server.token), options.seed, options.cases)
        for name in options.only.split(","):
            began = time.monotonic()
            print(f"-- {name}", flush=True)
            if subprocess.run(commands[name], cwd=TOP).returncode:
                failed.append(name)
            print(f"-- {name}: {time.monotonic() - began:.0f} s", flush=True)
    print(f"differ: {', '.join(failed)}" if failed else "no differences that are not known")
    return 1 if failed else 0
