"""What pod security, a LimitRange and a quota in its namespace add to the create of a pod."""

from __future__ import annotations

import asyncio
import json
import random
import time
from functools import partial
from typing import Any

from tests.benchmarks import load
from tests.benchmarks.bench import Bench
from tests.benchmarks.cases import CREATE
from tests.benchmarks.objects import TOKEN, pod

GUARDED, COUNTED, UNGUARDED = "guarded", "counted", "unguarded"
_SETTLED = 2.0  # seconds after which the quota has a status


def safe_pod(name: str) -> dict[str, Any]:
    """A pod that restricted takes, and that says no more of resources than a LimitRange has to complete."""
    made = pod(name, 1)
    made["spec"]["securityContext"] = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    for container in made["spec"]["containers"]:
        container["securityContext"] = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    return made


def guards(namespace: str) -> list[tuple[str, dict[str, Any]]]:
    """A namespace with restricted pod security and limits: paths and bodies."""
    levels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "audit", "warn")}
    item = {"type": "Container", "default": {"cpu": "1", "memory": "1Gi"}, "max": {"cpu": "4"}, "min": {"cpu": "10m"}}
    limits = [item, {"type": "Pod", "max": {"memory": "8Gi"}, "maxLimitRequestRatio": {"cpu": "20"}}]
    return [
        ("/api/v1/namespaces", {"metadata": {"name": namespace, "labels": levels}}),
        (
            f"/api/v1/namespaces/{namespace}/limitranges",
            {"metadata": {"name": "limits"}, "spec": {"limits": limits}},
        ),
    ]


def quota(namespace: str) -> tuple[str, dict[str, Any]]:
    """A quota that is never used up."""
    hard = {"pods": "100000000", "requests.cpu": "100000000", "limits.memory": "100000000Gi"}
    return f"/api/v1/namespaces/{namespace}/resourcequotas", {"metadata": {"name": "quota"}, "spec": {"hard": hard}}


def report(bench: Bench) -> None:
    create = CREATE % (TOKEN, json.dumps(safe_pod("NAME")))
    unguarded = "/api/v1/namespaces", {"metadata": {"name": UNGUARDED}}  # its pods are in nobody's lists
    for path, body in (unguarded, *guards(GUARDED), *guards(COUNTED), quota(COUNTED)):
        assert asyncio.run(load.send(bench.ours, TOKEN, [("POST", path, json.dumps(body).encode())], 1)) == [201]
    time.sleep(_SETTLED)

    def creates(namespace: str) -> float:
        url = f"{bench.ours}/api/v1/namespaces/{namespace}/pods"
        return load.wrk(url, TOKEN, bench.options.seconds, 32, create, (f"r{random.randrange(1 << 30)}",))

    for namespace, case in ((GUARDED, "CREATE pod guarded / unguarded"), (COUNTED, "CREATE pod with quota / without")):
        bench.record(case, partial(creates, namespace), partial(creates, UNGUARDED), times=3)
