"""Brings up a cluster of fake nodes and running pods with kwok, and says how long that takes and what it costs.

    python -m tests.upstream fake_cluster KWOK [--server gateway | --server PATH-OF-KUBE-APISERVER] [--nodes 500]
        [--pods 5000]

Nodes and pods are made by a few clients at once; every pod names its node, so that no scheduler is needed. A cluster is
up when all nodes are Ready and all pods Running, as a list from the server's cache tells.
"""

from __future__ import annotations

import argparse
import json
import os
import ssl
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.upstream.controlplane.server import Server, free_port, gateway, kube_apiserver

STAGES = Path(__file__).parents[2] / "deploy" / "kwok" / "stages.yaml"
CLIENTS = 8


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kwok", type=Path)
    parser.add_argument("--server", default="gateway")
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("--pods", type=int, default=5000)
    options = parser.parse_args(words)
    flags = ("--authorization-mode=RBAC", "--disable-admission-plugins=ServiceAccount")  # nothing makes accounts there
    start = gateway if options.server == "gateway" else kube_apiserver(Path(options.server), flags)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(start(scratch))
        kubeconfig = scratch / "admin.kubeconfig"
        kubeconfig.write_text(json.dumps(admin(server)))
        port = free_port()
        command = [options.kwok, f"--kubeconfig={kubeconfig}", f"--config={STAGES}", "--manage-all-nodes"]
        command += ["--node-ip=127.0.0.1", f"--node-port={port}", f"--server-address=127.0.0.1:{port}"]
        log = stack.enter_context((scratch / "kwok.log").open("wb"))
        kwok = subprocess.Popen(command, stdout=log, stderr=log)
        stack.callback(kwok.wait)
        stack.callback(kwok.terminate)
        before, began = cpu(server.pid), time.monotonic()
        make(server, "/api/v1/nodes", (node(number) for number in range(options.nodes)))
        make(server, "/api/v1/namespaces/default/pods", (pod(number, options.nodes) for number in range(options.pods)))
        made = time.monotonic() - began
        until_all(server, "/api/v1/nodes", options.nodes, is_ready)
        until_all(server, "/api/v1/pods", options.pods, lambda each: each["status"].get("phase") == "Running")
        took = time.monotonic() - began
        print(
            f"{options.server}: {options.nodes} nodes and {options.pods} pods made in {made:.0f} s and running after"
            f" {took:.0f} s; {cpu(server.pid) - before:.0f} s of CPU, {memory(server.pid) >> 20} MiB of memory"
        )


def node(number: int) -> dict[str, Any]:
    """A node that kwok manages."""
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"node-{number}"}}


def pod(number: int, nodes: int) -> dict[str, Any]:
    """A pod on one of the nodes."""
    spec: dict[str, Any] = {"nodeName": f"node-{number % nodes}", "containers": [{"name": "c", "image": "web:1"}]}
    spec |= {"automountServiceAccountToken": False}
    labels = {"app": f"app-{number % 100}"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"pod-{number}", "labels": labels}, "spec": spec}


def make(server: Server, path: str, objects: Iterable[dict[str, Any]]) -> None:
    """Creates objects, several at a time."""

    def work(some: tuple[dict[str, Any], ...]) -> None:
        connection = connect(server)
        for each in some:
            connection.request("POST", path, json.dumps(each), headers(server))
            answer = connection.getresponse()
            said = answer.read()
            assert answer.status == 201, said
        connection.close()

    with ThreadPoolExecutor(CLIENTS) as pool:
        made = list(objects)
        list(pool.map(work, (tuple(made[first : first + 100]) for first in range(0, len(made), 100))))


def until_all(server: Server, path: str, count: int, holds: Any) -> None:
    """Waits until a condition holds for that many objects."""
    connection = connect(server)
    while sum(map(holds, listed(connection, server, path))) < count:
        time.sleep(2)


def listed(connection: HTTPSConnection, server: Server, path: str) -> Iterator[dict[str, Any]]:
    connection.request("GET", f"{path}?resourceVersion=0", None, headers(server))
    yield from json.loads(connection.getresponse().read())["items"]


def is_ready(obj: dict[str, Any]) -> bool:
    """Whether a node is Ready."""
    return any(each["type"] == "Ready" and each["status"] == "True" for each in obj["status"].get("conditions", ()))


def connect(server: Server) -> HTTPSConnection:
    parts = urlsplit(server.url)
    return HTTPSConnection(parts.hostname or "", parts.port, context=ssl._create_unverified_context(), timeout=120)


def headers(server: Server) -> dict[str, str]:
    return {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}


def admin(server: Server) -> dict[str, Any]:
    """A kubeconfig with the administrator's token."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": server.url, "insecure-skip-tls-verify": True}}],
        "users": [{"name": "u", "user": {"token": server.token}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "c",
    }


def cpu(pid: int) -> float:
    """The CPU seconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(pid: int) -> int:
    """The memory of a process in bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
