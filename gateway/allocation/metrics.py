"""Metrics of the allocation of cluster IPs and node ports, under the names of kube-apiserver's allocators."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic

from storage.instruments import counter, histogram

_ADDRESSES, _PORTS = "kube_apiserver_clusterip_allocator_", "kube_apiserver_nodeport_allocator_"

ADDRESSES = counter(f"{_ADDRESSES}allocation_total", "Cluster IPs that were taken.", "cidr", "scope")
ADDRESS_ERRORS = counter(
    f"{_ADDRESSES}allocation_errors_total", "Cluster IPs that could not be taken.", "cidr", "scope"
)
ADDRESS_SECONDS = histogram(
    f"{_ADDRESSES}allocation_duration_seconds",
    "Time to take a cluster IP.",
    "cidr",
)
PORTS = counter(f"{_PORTS}allocation_total", "Node ports that were taken.", "scope")
PORT_ERRORS = counter(f"{_PORTS}allocation_errors_total", "Node ports that could not be taken.", "scope")
REPAIRED_ADDRESSES = counter(
    "apiserver_clusterip_repair_ip_errors_total",
    "Cluster IPs whose allocation record was wrong.",
    "type",
)
REPAIRED_PORTS = counter(
    "apiserver_nodeport_repair_port_errors_total",
    "Node ports whose allocation record was wrong.",
    "type",
)
ADDRESS_ROUNDS = counter("apiserver_clusterip_repair_reconcile_errors_total", "Failed repairs of cluster IPs.")
PORT_ROUNDS = counter("apiserver_nodeport_repair_reconcile_errors_total", "Failed repairs of node ports.")
LEAK, REPAIR = "leak", "repair"  # allocated, but no service uses it; a service uses it, but it was not allocated


@dataclass(slots=True)
class AllocationRange:
    """The range that an address is taken from; "" until that is known."""

    cidr: str = ""


@contextmanager
def counted(scope: str, dry_run: bool) -> Iterator[AllocationRange]:
    """Counts and times the allocation of an address in the block; `scope` is "static" or "dynamic".

    A dry run is not counted, nor an address that is in no range.
    """
    began, taken = monotonic(), AllocationRange()
    try:
        yield taken
    except Exception:
        if not dry_run and taken.cidr:
            ADDRESS_ERRORS.labels(taken.cidr, scope).inc()
        raise
    if not dry_run:
        ADDRESSES.labels(taken.cidr, scope).inc()
        ADDRESS_SECONDS.labels(taken.cidr).observe(monotonic() - began)


@contextmanager
def port_counted(scope: str) -> Iterator[None]:
    """Counts the allocation of a node port in the block; `scope` is "static" or "dynamic"."""
    try:
        yield
    except Exception:
        PORT_ERRORS.labels(scope).inc()
        raise
    PORTS.labels(scope).inc()
