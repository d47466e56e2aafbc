"""Writes docs/performance/large-clusters.md, the estimated costs of clusters: `hack/simulate.py [--check]`.

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

PAGE, COSTS = ROOT / "docs" / "performance" / "large-clusters.md", ROOT / "hack" / "costs.json"
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
# Large clusters, on paper

This page estimates what the gateway needs for clusters that have not been built with it. `hack/simulate.py` makes the
page: it adds up the costs of single operations (`hack/costs.json`, measured by `python -m tests.benchmarks.costs` on
{machine}). It does not know queues, bursts and lists. So the numbers are only an order of magnitude: measure
your own cluster. [Sizing](sizing.md) has measured numbers.

## Costs of single things

| what | cost |
|---|---:|
"""
_WHO = """
## The load

- Each node renews its Lease every 10 s and reports its status every 5 min. It watches its own pods and its Node, all
  Services, RuntimeClasses and CSIDrivers, and 20 ConfigMaps and Secrets by name. Its kube-proxy watches all
  EndpointSlices.
- Pods, EndpointSlices, ConfigMaps and Deployments are patched, and Events are created, each kind at the rate in the
  table. 30 controllers watch all objects of each kind.
- A pod has 4 KiB, other objects 1.5 KB.
- There are three replicas, and clients are spread over them evenly.

| cluster | nodes | pods | changes/s per kind | writes/s to etcd | events/s to watches | watches |
|---|---:|---:|---:|---:|---:|---:|
"""
_NEEDS = """
## The need

*cores* is the sum for all replicas; the next two columns are parts of it. Memory and network are for each replica.

| cluster | cores | sending events | changes of other replicas | memory | network out | over a limit |
|---|---:|---:|---:|---:|---:|---|
"""
_READ = """
The limits are 10 Gbit/s and 16 cores for a replica, and {etcd:,} writes a second for etcd. One process uses one core;
with `--workers N` a replica uses N cores. Each process has its own cache, unless they share one ([scale](scale.md)).

## What follows

- **EndpointSlices to all nodes are most of the load.** Each change of a slice is sent to each node. SIG Scalability's
  thresholds (5,000 nodes, 150,000 pods, 10,000 Services) hold in practice because slices change much less often than
  100 times a second, and because kube-proxy can be configured to get batches. One row shows the load without them.
- **Writes** are next: a core makes some {writes:,.0f} writes a second. Leases alone need {leases:,.0f} a second with
  5,000 nodes.
- **Memory** is the objects' own size plus {beside:,.0f} bytes for each, in every process that does not share a cache.
- **Ten times as much** is more than one etcd can do. Events, Leases and pods would each need [an etcd of their
  own](../how-to/etcd.md#resources-in-an-etcd-of-their-own). Every process would still process all changes.
  A process with a cache for one namespace only would avoid that; neither this server nor kube-apiserver has such
  caches.
"""


def lines() -> Iterator[str]:
    """The page."""
    costs: dict[str, float] = json.loads(COSTS.read_text(encoding="ascii"))
    yield _HEAD.format(machine="one worker, 2 cores")
    for name, value in costs.items():
        what, _, unit = name.rpartition(", ")
        shown = f"{value:,.0f} µs" if unit == "us" else f"{value:,.0f} bytes"
        yield f"| {what if unit == 'us' else name.replace(', bytes', '')} | {shown} |\n"
    yield _WHO
    found = {each.name: demand(each, costs, slices="no slices" not in each.name) for each in CLUSTERS}
    for each in CLUSTERS:
        need = found[each.name]
        row = (each.nodes, each.pods, each.changes, need.writes, need.told, need.watches)
        yield f"| {each.name} | {' | '.join(f'{value:,.0f}' for value in row)} |\n"
    yield _NEEDS
    for each in CLUSTERS:
        need = found[each.name]
        cores = " | ".join(f"{value:,.1f}" for value in (need.cpu, need.of_events, need.of_changes))
        sizes = f"{need.memory / GIB:,.1f} GiB | {need.network / MIB:,.0f} MiB/s"
        yield f"| {each.name} | {cores} | {sizes} | {limits(need, each)} |\n"
    large = CLUSTERS[2]
    yield _READ.format(
        etcd=ETCD_WRITES,
        writes=1e6 / costs["patch status, us"],
        leases=large.nodes / large.lease_seconds,
        beside=costs["object, bytes beside its JSON"],
    )


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, lambda: "".join(lines()), __doc__))
