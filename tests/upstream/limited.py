"""How many creates a second a namespace with a quota takes, beside kube-apiserver with its quota controller.

    python -m tests.upstream limited [DIRECTORY-OF-KUBERNETES] [--rate 64,0] [--seconds 5] [--rounds 4] [--hard 1000]

DIRECTORY-OF-KUBERNETES has kube-apiserver and kube-controller-manager. Its client is tests/upstream/hooked_peer: 64
connections that create config maps at a rate; at 0 as fast as they go, in a namespace with room for all. Both servers
are asked in turn, round by round, so that what else the machine does falls on both. At the end, as fast as it goes
again, against a quota of `--hard`: how many were created, and how long it took.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

from tests.upstream.controlplane.server import MANAGER, Server, gateway, kube_apiserver
from tests.upstream.hooked import SOURCES
from tests.upstream.proxied import cpu

FLAGS = ("--authorization-mode=RBAC", "--disable-admission-plugins=ServiceAccount")
ROOM = 1_000_000


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kubernetes", type=Path, nargs="?")
    parser.add_argument("--rate", default="64,0")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--hard", type=int, default=1000)
    options = parser.parse_args(words)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        program = scratch / "hooked"
        subprocess.run(["go", "build", "-o", program, "."], cwd=SOURCES, check=True)
        starts: dict[str, Callable[[Path], AbstractContextManager[Server]]] = {"gateway": gateway}
        if options.kubernetes:
            starts["kube-apiserver"] = kube_apiserver(options.kubernetes / "kube-apiserver", FLAGS)
        servers = {}
        for name, start in starts.items():
            (scratch / name).mkdir()
            servers[name] = stack.enter_context(start(scratch / name))
            if name != "gateway":
                manager = [options.kubernetes / MANAGER, *servers[name].flags[MANAGER], "--leader-elect=false"]
                log = stack.enter_context((scratch / "manager.log").open("wb"))
                running = subprocess.Popen([*manager, "--controllers=resourcequota"], stdout=log, stderr=log)
                stack.callback(running.wait)
                stack.callback(running.terminate)
        for rate in map(float, options.rate.split(",")):
            compare(program, servers, rate, options.seconds, options.rounds)
        for name, server in servers.items():
            fill(program, name, server, options.hard)


def limited(server: Server, name: str, hard: int) -> tuple[str, int]:
    """Makes a namespace with a quota that is in force. Returns the path of its ConfigMaps, and how many it has room
    for.
    """
    quota = f"/api/v1/namespaces/{name}/resourcequotas"
    server.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    time.sleep(1)  # until the namespace has the ConfigMap that each namespace gets
    server.ask("POST", quota, {"metadata": {"name": "q"}, "spec": {"hard": {"count/configmaps": str(hard)}}})
    while not (used := server.ask("GET", f"{quota}/q").get("status", {}).get("used")):
        time.sleep(0.1)
    return f"/api/v1/namespaces/{name}/configmaps", hard - int(used["count/configmaps"])


def load(program: Path, server: Server, path: str, rate: float, seconds: float, names: str = "c") -> dict[str, float]:
    """The client's results for its creates; `names` is the prefix of the names."""
    command = [str(program), f"-url={server.url}{path}", f"-token={server.token}", f"-rate={rate}", f"-prefix={names}"]
    said = subprocess.run([*command, f"-seconds={seconds}"], capture_output=True, text=True, check=True).stdout
    found: dict[str, float] = json.loads(said)
    return found


def compare(program: Path, servers: dict[str, Server], rate: float, seconds: float, rounds: int) -> None:
    """Prints the results of each server while the quota has room."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in servers}
    for number in range(-1, rounds):  # the first round warms up
        for name, server in servers.items():
            path, _ = limited(server, f"r{int(rate)}-{number + 1}", ROOM)
            before = cpu(server.pid)
            said = load(program, server, path, rate, seconds if number >= 0 else 1)
            if number >= 0:
                found[name].append({**said, "cpu": (cpu(server.pid) - before) / max(said["requests"], 1) * 1e6})
    for name, all_ in found.items():
        each = {key: statistics.median(one[key] for one in all_) for key in all_[0]}
        print(
            f"{rate or 'most':>6} {name:15} {each['requests'] / seconds:6.0f}/s  p50 {each['p50']:6.1f}  "
            f"p99 {each['p99']:6.1f} ms  {each['cpu']:5.0f} us of CPU each  "
            f"{sum(one['failed'] for one in all_):.0f} failed"
        )
    if len(found) == 2:
        pairs = list(zip(*found.values(), strict=True))
        for key in ("requests", "p50", "p99", "cpu"):
            print(f"{rate or 'most':>6} ratio of {key}: {', '.join(f'{a[key] / b[key]:.2f}' for a, b in pairs)}")


def fill(program: Path, name: str, server: Server, hard: int) -> None:
    """Creates more than a quota has room for, until all creates are refused. Prints how many were created."""
    path, room = limited(server, "full", hard)
    made, began = 0.0, time.monotonic()
    while made < room and time.monotonic() - began < 60:
        made += load(program, server, path, 0, 0.5, f"c{int(made)}")["requests"]
    took = time.monotonic() - began
    print(f"{name:15} created {made:.0f} where there was room for {room}, in {took:.1f} s")
