"""How many requests a second are passed on to another server, and what one costs, beside kube-apiserver.

    python -m tests.upstream proxied [KUBE-APISERVER] [--to extension,node,pod,service] [--at-once 1,16] [--seconds 3]
        [--rounds 4]
                    [--size 1024]

The other server, in turn an extension server, a kubelet, a pod and a service's endpoint, and the client are one program
in Go. Neither gateway nor kube-apiserver calls nodes, pods and endpoints at loopback addresses: all but `extension` is
measured in a network namespace of its own, which has another one (as root, with unshare and ip of util-linux and
iproute2). Both servers are asked in turn, round by round, so that what
else the machine does falls on both; CPU is that of the server's process alone.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

from tests.upstream.controlplane.server import Refused, Server, free_port, gateway, kube_apiserver

GROUP = "rate.example.com"
SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
SPACE = "/api/v1/namespaces/default"
PATHS = {
    "extension": f"/apis/{GROUP}/v1/namespaces/default/things/one",
    "node": "/api/v1/nodes/rate/proxy/one",
    "pod": f"{SPACE}/pods/https:rate:{{port}}/proxy/one",
    "service": f"{SPACE}/services/https:endpoint:{{port}}/proxy/one",
}
ADDRESS, INSIDE = "192.0.2.1", "PROXIED_INSIDE"  # of the network namespace; set for the program in it
FLAGS = ("--authorization-mode=RBAC", "--disable-admission-plugins=ServiceAccount")  # nothing makes accounts there
SOURCES = Path(__file__).with_name("proxied_peer")


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kube_apiserver", type=Path, nargs="?")
    parser.add_argument("--to", default="extension")
    parser.add_argument("--at-once", default="1,16")
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--size", type=int, default=1024)
    options = parser.parse_args(words)
    to = options.to.split(",")
    if unknown := set(to) - set(PATHS):
        parser.error(f"--to: there is no {', '.join(sorted(unknown))}, only {', '.join(PATHS)}")
    if set(to) != {"extension"} and INSIDE not in os.environ:
        inside = f'ip link set lo up && ip address add {ADDRESS}/32 dev lo && exec "$@"'
        command = ["unshare", "--net", "sh", "-ec", inside, "sh"]
        command += [sys.executable, "-m", "tests.upstream", "proxied", *words]
        os.execvpe("unshare", command, os.environ | {INSIDE: "1"})
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        program = scratch / "proxied"
        subprocess.run(["go", "build", "-o", program, "."], cwd=SOURCES, check=True)
        port = free_port()
        backend = subprocess.Popen([program, f"-serve=:{port}", f"-size={options.size}"])
        stack.callback(backend.wait)
        stack.callback(backend.kill)
        servers = {}
        starts: dict[str, Callable[[Path], AbstractContextManager[Server]]] = {"gateway": gateway}
        if options.kube_apiserver:
            starts["kube-apiserver"] = kube_apiserver(
                options.kube_apiserver, (*FLAGS, f"--advertise-address={ADDRESS}") if INSIDE in os.environ else FLAGS
            )
        for name, start in starts.items():
            directory = scratch / name
            directory.mkdir()
            servers[name] = stack.enter_context(start(directory))
            register(servers[name], port)
            if INSIDE in os.environ:
                place(servers[name], port)
        for each in to:
            print(f"to {each}:")
            path = PATHS[each].format(port=port)
            for at_once in map(int, options.at_once.split(",")):
                compare(program, servers, path, at_once, options.seconds, options.rounds)


def compare(program: Path, servers: dict[str, Server], path: str, at_once: int, seconds: float, rounds: int) -> None:
    """Prints the results of each server."""
    totals = {name: [0, 0.0, 0.0] for name in servers}
    for _ in range(rounds):
        for name, server in servers.items():
            command = [str(program), f"-url={server.url}{path}", f"-token={server.token}"]
            before = cpu(server.pid)
            said = subprocess.run(
                [*command, f"-at-once={at_once}", f"-seconds={seconds}"], capture_output=True, text=True, check=True
            )
            found = json.loads(said.stdout)
            totals[name][0] += found["requests"]
            totals[name][1] += cpu(server.pid) - before
            totals[name][2] = max(totals[name][2], found["slowest_ms"])
    shown = {}
    for name, (requests, used, slowest) in totals.items():
        shown[name] = requests / seconds / rounds, used / requests * 1e6
        print(
            f"{at_once:3} at once  {name:15} {shown[name][0]:8.0f} requests/s  {shown[name][1]:6.0f} us of CPU each"
            f"  slowest {slowest:.0f} ms"
        )
    if len(shown) == 2:
        ours, theirs = shown.values()
        ratios = f"{ours[0] / theirs[0]:.2f} of the requests, {ours[1] / theirs[1]:.2f} of the CPU"
        print(f"{at_once:3} at once  ratio: {ratios}")


def register(server: Server, port: int) -> None:
    """Registers the extension API server for its group."""
    spec: dict[str, Any] = {"type": "ExternalName", "externalName": "127.0.0.1", "ports": [{"port": port}]}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "rate"}, "spec": spec}
    place = {"namespace": "default", "name": "rate", "port": port}
    spec = {"group": GROUP, "version": "v1", "service": place, "insecureSkipTLSVerify": True}
    spec |= {"groupPriorityMinimum": 100, "versionPriority": 10}
    left = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": f"v1.{GROUP}"}}
    patiently(server, "GET", "/api/v1/namespaces/default")  # kube-apiserver answers before it is there
    server.ask("POST", "/api/v1/namespaces/default/services", service)
    server.ask("POST", SERVICES, {**left, "spec": spec})
    patiently(server, "GET", f"/apis/{GROUP}/v1")


def place(server: Server, port: int) -> None:
    """Creates a node, a pod on it and a service; the other server is their kubelet, container and endpoint."""
    merge = "application/merge-patch+json"
    server.ask("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "rate"}})
    kubelet = {"kubeletEndpoint": {"Port": port}}
    status: dict[str, Any] = {"addresses": [{"type": "InternalIP", "address": ADDRESS}], "daemonEndpoints": kubelet}
    server.ask("PATCH", "/api/v1/nodes/rate/status", {"status": status}, merge)
    spec: dict[str, Any] = {"nodeName": "rate", "containers": [{"name": "c", "image": "rate"}]}
    pod = server.ask(
        "POST", f"{SPACE}/pods", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "rate"}, "spec": spec}
    )
    status = {"phase": "Running", "podIP": ADDRESS, "podIPs": [{"ip": ADDRESS}]}
    server.ask("PATCH", f"{SPACE}/pods/rate/status", {"status": status}, merge)
    meta = {"name": "endpoint"}
    spec = {"ports": [{"port": port}]}
    server.ask("POST", f"{SPACE}/services", {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": spec})
    target = {"kind": "Pod", "namespace": "default", "name": "rate", "uid": pod["metadata"]["uid"]}
    subset = {"addresses": [{"ip": ADDRESS, "targetRef": target}], "ports": [{"port": port}]}
    server.ask(
        "POST", f"{SPACE}/endpoints", {"apiVersion": "v1", "kind": "Endpoints", "metadata": meta, "subsets": [subset]}
    )


def patiently(server: Server, method: str, path: str) -> None:
    """Repeats a request until the answer is not an error."""
    ends = time.monotonic() + 30
    while True:
        try:
            server.ask(method, path)
            return
        except Refused:
            if time.monotonic() > ends:
                raise
            time.sleep(0.2)


def cpu(pid: int) -> float:
    """The CPU seconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
