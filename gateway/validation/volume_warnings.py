"""Warnings about volumes that write two things to one path."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gateway.jsontypes import JsonObject
from gateway.validation.field import go_quote


class Target(NamedTuple):
    """A path in a volume, and what is written there if the volume has several sources."""

    path: str
    source: str = ""

    def __str__(self) -> str:
        return f"{go_quote(self.path)} ({self.source})" if self.source else go_quote(self.path)


def overlap_warnings(volumes: Iterable[JsonObject]) -> Iterator[str]:
    for volume in volumes:
        name = volume.get("name", "")
        for key, shown, name_key in (("configMap", "ConfigMap", "name"), ("secret", "Secret", "secretName")):
            if items := (volume.get(key) or {}).get("items"):
                kind = f"{shown} {go_quote(volume[key].get(name_key, ''))}"
                yield from _within(_targets(items), name, kind)
        if items := (volume.get("downwardAPI") or {}).get("items"):
            yield from _within(_targets(items), name, "DownwardAPI")
        if "projected" in volume:
            yield from _projected(volume["projected"].get("sources") or (), name)


def _targets(items: Iterable[JsonObject], source: str = "") -> list[Target]:
    return [Target(item.get("path", ""), source) for item in items]


def _within(targets: list[Target], name: str, kind: str) -> Iterator[str]:
    seen: list[Target] = []
    for target in targets:
        yield from _against(target, seen, name, kind)


def _against(target: Target, seen: list[Target], name: str, kind: str) -> Iterator[str]:
    target = target._replace(path=target.path.rstrip("/"))
    for other in seen:
        if _overlap(other, target):
            yield f"volume {go_quote(name)} ({kind}): overlapping paths: {target} with {other}"
    seen.append(target)


def _overlap(one: Target, other: Target) -> bool:
    if not one.path or not other.path:
        return False
    return f"{one.path}/".startswith(f"{other.path}/") or f"{other.path}/".startswith(f"{one.path}/")


def _projected(sources: Iterable[JsonObject], name: str) -> Iterator[str]:
    seen: list[Target] = []
    for source in sources:
        if not source:
            yield f"volume {go_quote(name)} (Projected) has no sources provided"
            continue
        for target in _projected_targets(source):
            yield from _against(target, seen, name, "Projected")


def _projected_targets(source: JsonObject) -> list[Target]:
    for key, shown in (("configMap", "ConfigMap"), ("secret", "Secret")):
        if items := (source.get(key) or {}).get("items"):
            return _targets(items, f"{shown} {go_quote(source[key].get('name', ''))}")
    if items := (source.get("downwardAPI") or {}).get("items"):
        return _targets(items, "DownwardAPI")
    if "serviceAccountToken" in source:
        return [Target(source["serviceAccountToken"].get("path", ""), "ServiceAccountToken")]
    return []
