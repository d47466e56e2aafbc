"""Writes a section of docs/performance/sizing.md, what large clusters need: `hack/simulate.py [--check]`.

The costs are in hack/costs.json, which `python -m tests.benchmarks.costs --json hack/costs.json` measures. Nothing here
is a measurement of a cluster: it adds up.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from hack.written import write_or_check  # noqa: E402

PAGE, COSTS = ROOT / "docs" / "performance" / "sizing.md", ROOT / "hack" / "costs.json"
BEGIN, END = (f"<!-- {word} hack/simulate.py -->\n" for word in ("begin", "end"))
MIB, GIB = 1 << 20, 1 << 30
ETCD_WRITES = 10_000  # a second, of one etcd on a fast disk; etcd.io's own benchmark is above that for small values
NETWORK = 10e9 / 8  # bytes a second of one machine


@dataclass(frozen=True, slots=True)
class Cluster:
    """What there is and what happens. Rates are those of a second."""

    name: str
    nodes: int
    pods: int
    others: int  # objects of other kinds
    changes: float  # of each kind below
    controllers: int = 30  # clients that watch all objects of each kind
    pod_bytes: int = 4096
    other_bytes: int = 1500
    replicas: int = 3
    own: int = 20  # single ConfigMaps and Secrets that a kubelet watches
    lease_seconds: float = 10.0
    status_seconds: float = 300.0


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind that changes: who hears of each change beside the controllers."""

    name: str
    create: bool  # whether its changes are creates
    each_node: bool  # whether all nodes are told, as kube-proxy is of slices
    one_node: bool  # whether one is


KINDS = (
    Kind("pods", create=False, each_node=False, one_node=True),
    Kind("endpointslices", create=False, each_node=True, one_node=False),
    Kind("configmaps", create=False, each_node=False, one_node=True),
    Kind("deployments", create=False, each_node=False, one_node=False),
    Kind("events", create=True, each_node=False, one_node=False),
)
CLUSTERS = (
    Cluster("small", 100, 3_000, 5_000, 5),
    Cluster("middle", 1_000, 30_000, 50_000, 20),
    Cluster("Kubernetes' limits", 5_000, 150_000, 250_000, 100),
    Cluster("Kubernetes' limits, no slices to all nodes", 5_000, 150_000, 250_000, 100),
    Cluster("ten times these", 50_000, 1_500_000, 2_500_000, 1_000),
)


@dataclass(frozen=True, slots=True)
class Demand:
    """What all of that takes."""

    writes: float  # a second, to etcd
    told: float  # events a second, to all watches
    watches: int
    cpu: float  # cores of all replicas together
    of_events: float  # the part of them that telling takes
    of_changes: float  # and that each replica's taking in of all changes takes
    memory: float  # bytes of one replica
    network: float  # bytes a second out of one replica


def demand(cluster: Cluster, costs: dict[str, float], *, slices: bool = True) -> Demand:
    """Adds up. Without `slices` nodes do not watch all EndpointSlices."""
    us = 1e-6
    leases = cluster.nodes / cluster.lease_seconds
    statuses = cluster.nodes / cluster.status_seconds
    creates = sum(cluster.changes for kind in KINDS if kind.create)
    patches = sum(cluster.changes for kind in KINDS if not kind.create)
    told = told_bytes = 0.0
    for kind in KINDS:
        hear = cluster.controllers + kind.one_node + (cluster.nodes if kind.each_node and slices else 0)
        told += hear * cluster.changes
        told_bytes += hear * cluster.changes * (cluster.pod_bytes if kind.name == "pods" else cluster.other_bytes)
    told += leases + statuses * cluster.controllers
    told_bytes += (leases + statuses * cluster.controllers) * cluster.other_bytes
    writes = leases + statuses + creates + patches
    watches = cluster.nodes * (5 + cluster.own) + cluster.controllers * 20
    writing = creates * costs["create pod, us"] + (patches + statuses) * costs["patch status, us"]
    writing += leases * costs["renew lease, us"]
    taking = writes * (cluster.replicas - 1) * costs["change of others, us"]
    telling = told * costs["event told, us"]
    objects = cluster.pods * cluster.pod_bytes + cluster.others * cluster.other_bytes
    objects += (cluster.pods + cluster.others) * max(costs["object, bytes beside its JSON"], 0.0)
    memory = costs["process, bytes"] + objects + watches / cluster.replicas * costs["watch, bytes"]
    cpu = (writing + taking + telling) * us
    return Demand(writes, told, watches, cpu, telling * us, taking * us, memory, told_bytes / cluster.replicas)


def limits(found: Demand, cluster: Cluster) -> str:
    """What does not fit, the worst first."""
    parts = {
        f"network ({found.network / NETWORK:.1f} of 10 Gbit/s)": found.network / NETWORK,
        f"etcd ({found.writes:,.0f} writes/s)": found.writes / ETCD_WRITES,
        f"cores ({found.cpu / cluster.replicas:.0f} a replica)": found.cpu / cluster.replicas / 16,
    }
    over = sorted((name for name, part in parts.items() if part > 1), key=lambda name: -parts[name])
    return ", ".join(over) or "none"


_HEAD = """\
`hack/simulate.py` adds up costs of single operations, which `python -m tests.benchmarks.costs` measures. It knows no
queues, bursts or lists: expect the order of magnitude.

| cluster | nodes | pods | writes/s | watches | cores | memory | network out | over a limit |
|---|---:|---:|---:|---:|---:|---:|---:|---|
"""
_READ = """
There are three replicas. Cores are their sum; memory and network are of one. Pods, EndpointSlices, ConfigMaps,
Deployments and Events change {rates} times a second each. Limits: 10 Gbit/s and 16 cores a replica, {etcd:,}
writes a second for etcd. EndpointSlices to all nodes are most of the load. Writes are next: a core makes
{writes:,.0f} a second, and 5,000 nodes renew {leases:,.0f} Leases.
"""


def lines() -> Iterator[str]:
    """The section."""
    costs: dict[str, float] = json.loads(COSTS.read_text(encoding="ascii"))
    yield _HEAD
    for each in CLUSTERS:
        need = demand(each, costs, slices="no slices" not in each.name)
        counts = " | ".join(f"{value:,.0f}" for value in (each.nodes, each.pods, need.writes, need.watches))
        sizes = f"{need.memory / GIB:,.1f} GiB | {need.network / MIB:,.0f} MiB/s"
        yield f"| {each.name} | {counts} | {need.cpu:,.1f} | {sizes} | {limits(need, each)} |\n"
    large = CLUSTERS[2]
    yield _READ.format(
        rates=", ".join(f"{rate:,.0f}" for rate in dict.fromkeys(each.changes for each in CLUSTERS)),
        etcd=ETCD_WRITES,
        writes=1e6 / costs["patch status, us"],
        leases=large.nodes / large.lease_seconds,
    )


def page() -> str:
    """The page with the section made anew."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    return f"{before}{BEGIN}\n{''.join(lines())}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, page, __doc__))
