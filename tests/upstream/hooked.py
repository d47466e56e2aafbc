"""How writes fare that one validating webhook has to allow, at a rate and as fast as they go, beside kube-apiserver.

    python -m tests.upstream hooked [KUBE-APISERVER] [--rate 500,0] [--seconds 5] [--rounds 4] [--wait 5ms]

The webhook and the client are one program in Go. Both servers are asked in turn, round by round, so that what else the
machine does falls on both; CPU is that of the server's process alone. A rate of 0 is as fast as 64 connections go.
"""

from __future__ import annotations

import argparse
import base64
import json
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

from tests.upstream.controlplane.server import Server, free_port, gateway, kube_apiserver
from tests.upstream.proxied import cpu, patiently

SOURCES = Path(__file__).with_name("hooked_peer")
MAPS = "/api/v1/namespaces/default/configmaps"
CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kube_apiserver", type=Path, nargs="?")
    parser.add_argument("--rate", default="500,0")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--wait", default="5ms")
    options = parser.parse_args(words)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        program, authority, port = scratch / "hooked", scratch / "authority.pem", free_port()
        subprocess.run(["go", "build", "-o", program, "."], cwd=SOURCES, check=True)
        hook = [program, f"-serve=127.0.0.1:{port}", f"-authority={authority}", f"-wait={options.wait}"]
        webhook = subprocess.Popen(hook)
        stack.callback(webhook.wait)
        stack.callback(webhook.kill)
        starts: dict[str, Callable[[Path], AbstractContextManager[Server]]] = {"gateway": gateway}
        if options.kube_apiserver:
            starts["kube-apiserver"] = kube_apiserver(options.kube_apiserver)
        servers = {}
        for name, start in starts.items():
            (scratch / name).mkdir()
            servers[name] = stack.enter_context(start(scratch / name))
            register(servers[name], port, authority.read_bytes())
        for rate in map(float, options.rate.split(",")):
            compare(program, servers, rate, options.seconds, options.rounds)


def register(server: Server, port: int, authority: bytes) -> None:
    """Registers the webhook for new ConfigMaps, and waits until it is called."""
    client = {"url": f"https://127.0.0.1:{port}/", "caBundle": base64.b64encode(authority).decode()}
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}
    hook: dict[str, Any] = {"name": "allow.example.com", "clientConfig": client, "rules": [rule], "sideEffects": "None"}
    patiently(server, "GET", "/api/v1/namespaces/default")
    hooks = [{**hook, "admissionReviewVersions": ["v1"]}]
    server.ask("POST", CONFIGURATIONS, {"metadata": {"name": "allow"}, "webhooks": hooks})
    time.sleep(2)  # until the informer of a kube-apiserver has it


def compare(program: Path, servers: dict[str, Server], rate: float, seconds: float, rounds: int) -> None:
    """Prints the results of each server."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in servers}
    for number in range(-1, rounds):  # the first round warms up
        for name, server in servers.items():
            command = [str(program), f"-url={server.url}{MAPS}", f"-token={server.token}", f"-rate={rate}"]
            command += [f"-seconds={seconds if number >= 0 else 1}", f"-prefix=r{int(rate)}-{number + 1}"]
            before = cpu(server.pid)
            said = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            if number >= 0:
                found[name].append({**said, "cpu": (cpu(server.pid) - before) / max(said["requests"], 1) * 1e6})
    for name, all_ in found.items():
        each = {key: statistics.median(one[key] for one in all_) for key in all_[0]}
        print(
            f"{rate or 'most':>6} {name:15} {each['requests'] / seconds:6.0f}/s  p50 {each['p50']:6.1f}  "
            f"p90 {each['p90']:6.1f}  p99 {each['p99']:6.1f}  slowest {each['slowest']:6.1f} ms  "
            f"{each['cpu']:5.0f} us of CPU each  {sum(one['failed'] for one in all_):.0f} failed"
        )
    if len(found) == 2:
        pairs = list(zip(*found.values(), strict=True))
        for key in ("requests", "p50", "p99", "cpu"):
            print(f"{rate or 'most':>6} ratio of {key}: {', '.join(f'{a[key] / b[key]:.2f}' for a, b in pairs)}")
