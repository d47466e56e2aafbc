"""Warnings about conflicts between the ports of a pod's containers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import chain
from typing import NamedTuple

from gateway.jsontypes import JsonObject
from gateway.validation.field import go_quote


class _Port(NamedTuple):
    number: int  # the index among all ports of the pod
    path: str
    address: str  # hostIP
    host: int  # hostPort


class _Taken:
    """The ports with one containerPort and protocol, indexed by what they conflict with. The time of a search for the
    conflicts of a port grows only with their number.
    """

    def __init__(self) -> None:
        self._without_host: list[_Port] = []
        self._by_host: dict[int, list[_Port]] = {}
        self._by_address: dict[tuple[int, str], list[_Port]] = {}

    def add(self, port: _Port) -> None:
        if port.host:
            self._by_host.setdefault(port.host, []).append(port)
            self._by_address.setdefault((port.host, port.address), []).append(port)
        else:
            self._without_host.append(port)

    def conflicts(self, port: _Port) -> Iterable[_Port]:
        """The ports so far that conflict with a port, in their order."""
        found = [self._without_host]
        if not port.host:
            found += self._by_host.values()
        elif port.address:
            found += [self._by_address.get((port.host, address), []) for address in (port.address, "")]
        else:
            found.append(self._by_host.get(port.host, []))
        return merge(*found) if sum(map(bool, found)) > 1 else chain(*found)


def port_warnings(containers: Iterable[tuple[JsonObject, str]]) -> Iterator[str]:
    """Yields the warnings about all ports of a pod; those about names come last. Containers come with their paths."""
    taken: dict[tuple[int, str], _Taken] = {}
    names: dict[str, str] = {}
    duplicates: list[tuple[str, str]] = []
    number = 0
    for container, place in containers:
        for i, spec in enumerate(container.get("ports") or ()):
            port = _Port(number, f"{place}.ports[{i}]", spec.get("hostIP", ""), spec.get("hostPort", 0))
            number += 1
            if port.address and not port.host:
                yield f"{port.path}: hostIP set without hostPort: {_go_port(spec)}"
            key = (spec.get("containerPort", 0), spec.get("protocol", ""))
            if (others := taken.get(key)) is None:
                others = taken[key] = _Taken()
            else:
                yield from (_conflict(port, other) for other in others.conflicts(port))
            others.add(port)
            if (name := spec.get("name")) and names.setdefault(name, port.path) is not port.path:
                duplicates.append((port.path, name))
    for path, name in duplicates:
        text = f"services and probes that select ports by name will use {names[name]}"
        yield f"{path}: duplicate port name {go_quote(name)} with {names[name]}, {text}"


def _conflict(port: _Port, other: _Port) -> str:
    if (port.address, port.host) == (other.address, other.host):
        return f"{port.path}: duplicate port definition with {other.path}"
    if not port.host or not other.host:
        return f"{port.path}: overlapping port definition with {other.path}"
    return f"{port.path}: dangerously ambiguous port definition with {other.path}"


def _go_port(port: JsonObject) -> str:
    keys = {"Name": "name", "HostPort": "hostPort", "ContainerPort": "containerPort", "Protocol": "protocol"}
    keys["HostIP"] = "hostIP"
    numbers = ("HostPort", "ContainerPort")
    return "{" + " ".join(f"{k}:{port.get(v, 0 if k in numbers else '')}" for k, v in keys.items()) + "}"
