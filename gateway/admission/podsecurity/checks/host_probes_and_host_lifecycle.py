"""Baseline: probes and lifecycle handlers talk to the pod itself, not to other hosts in the kubelet's name."""

from __future__ import annotations

from collections.abc import Iterator

from gateway.admission.podsecurity.check import (
    Check,
    PodUnderCheck,
    Revision,
    Violation,
    of_containers,
    plural,
    quoted,
)
from gateway.admission.podsecurity.levels import Level
from gateway.jsontypes import JsonObject

_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HANDLERS = ("postStart", "preStop")


def _violation(pod: PodUnderCheck) -> Violation | None:
    bad, hosts = set(), set()
    for name, _, container in pod.containers:
        named = set(_hosts(container))
        if named:
            bad.add(name)
            hosts |= named
    if not bad:
        return None
    verb = "uses" if len(bad) == 1 else "use"
    what = f"{plural('probe or lifecycle host', hosts)} {quoted(sorted(hosts))}"
    return Violation("probe or lifecycle host", f"{of_containers(sorted(bad))} {verb} {what}")


def _hosts(container: JsonObject) -> Iterator[str]:
    for probe in _PROBES:
        if probe in container:
            yield from _hosts_of_handler(container[probe])
    lifecycle = container.get("lifecycle")
    if lifecycle:
        for handler in _HANDLERS:
            yield from _hosts_of_handler(lifecycle.get(handler))


def _hosts_of_handler(handler: JsonObject | None) -> Iterator[str]:
    for way in ("httpGet", "tcpSocket"):
        host = ((handler or {}).get(way) or {}).get("host")
        if host:
            yield host


CHECK = Check("hostProbesAndHostLifecycle", Level.BASELINE, (Revision(34, _violation),))
