"""What authorization costs a GET: of a user with some roles, 5 000 bindings in place, beside a server without RBAC."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from tests.benchmarks import load
from tests.benchmarks.bench import Bench, serve, wait_for
from tests.benchmarks.decisions import BINDINGS, RULES
from tests.benchmarks.objects import NAMESPACE, READER, TOKEN

CASE = "GET rv=0 of a user, RBAC / AlwaysAllow, by CPU"
TARGET = 0.95
ROLES = 20  # that the reader has
GROUP = "rbac.authorization.k8s.io"


def report(bench: Bench, stack: ExitStack) -> None:
    """Fills the server with bindings, and compares two other servers on its etcd that differ only in their
    authorization mode.
    """
    if bench.options.only and bench.options.only not in CASE:
        return
    codes = asyncio.run(load.send(bench.ours, TOKEN, [*_roles(), *_bindings()]))
    assert set(codes) == {201}, f"creating roles and bindings answered {set(codes)}"
    path = f"/api/v1/namespaces/{NAMESPACE}/pods/pod-000001?resourceVersion=0"

    def rate(mode: str) -> Callable[[], float]:
        process, url = serve(bench, stack, f"--authorization-mode={mode}")
        wait_for(bench, f"{url}/readyz")
        return lambda: requests_a_cpu_second(
            process.pid, lambda: load.wrk(f"{url}{path}", READER, bench.options.seconds, 16), bench.options.seconds
        )

    bench.record(CASE, rate("RBAC"), rate("AlwaysAllow"), TARGET)


def requests_a_cpu_second(process: int, run: Callable[[], float], seconds: int) -> float:
    """Not of the clock's seconds: what else the machine does differs by more than what is looked for.

    `run` makes requests for so many seconds, and says how many there were in each.
    """
    began = _cpu_seconds(process)
    rate = run()
    return rate * seconds / (_cpu_seconds(process) - began)


def _cpu_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _roles() -> list[tuple[str, str, bytes]]:
    path = f"/apis/{GROUP}/v1/clusterroles"
    return [
        ("POST", path, json.dumps({"metadata": {"name": f"reads-{number}"}, "rules": RULES}).encode())
        for number in range(ROLES)
    ]


def _bindings() -> list[tuple[str, str, bytes]]:
    """Bindings in the namespace, of one role each: the first ones are for the reader, the others for other users."""
    path = f"/apis/{GROUP}/v1/namespaces/{NAMESPACE}/rolebindings"
    made = []
    for number in range(BINDINGS):
        who = "reader" if number < ROLES else f"user-{number}"
        ref = {"apiGroup": GROUP, "kind": "ClusterRole", "name": f"reads-{number % ROLES}"}
        subjects = [{"apiGroup": GROUP, "kind": "User", "name": who}]
        body = {"metadata": {"name": f"reads-{number}"}, "roleRef": ref, "subjects": subjects}
        made.append(("POST", path, json.dumps(body).encode()))
    return made
