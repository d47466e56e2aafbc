"""Baseline: a pod may only set safe sysctls, which affect no other pod."""

from __future__ import annotations

from functools import partial

from gateway.admission.podsecurity.check import Check, PodUnderCheck, Revision, Violation
from gateway.admission.podsecurity.levels import Level

_SINCE = {  # minor version -> sysctls that are allowed from it on
    0: {
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.ping_group_range",
        "net.ipv4.ip_unprivileged_port_start",
    },
    27: {"net.ipv4.ip_local_reserved_ports"},
    29: {
        "net.ipv4.tcp_keepalive_time",
        "net.ipv4.tcp_fin_timeout",
        "net.ipv4.tcp_keepalive_intvl",
        "net.ipv4.tcp_keepalive_probes",
    },
    32: {"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"},
    37: {"net.ipv4.tcp_notsent_lowat", "net.ipv4.tcp_slow_start_after_idle"},
}


def _violation(allowed: frozenset[str], pod: PodUnderCheck) -> Violation | None:
    given = [sysctl.get("name", "") for sysctl in pod.context.get("sysctls") or ()]
    bad = [name for name in given if name not in allowed]
    return Violation("forbidden sysctls", ", ".join(bad)) if bad else None


def _allowed(minor: int) -> frozenset[str]:
    return frozenset(name for since, names in _SINCE.items() if since <= minor for name in names)


CHECK = Check(
    "sysctls", Level.BASELINE, tuple(Revision(since, partial(_violation, _allowed(since))) for since in _SINCE)
)
