"""Warnings about volumes with overlapping paths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gateway.jsontypes import JsonObject
from gateway.validation.field import go_quote

_MOST_LOOKS = 100_000  # comparisons of two paths of one volume; a long path counts once more for each _LOOK characters
_LOOK = 256


class VolumePath(NamedTuple):
    """A path in a volume, without a trailing slash. `source` names what is written there, in projected volumes."""

    path: str
    source: str = ""

    def __str__(self) -> str:
        return f"{go_quote(self.path)} ({self.source})" if self.source else go_quote(self.path)


class _Overlaps:
    """Finds the targets of one volume that overlap earlier ones.

    A sort finds the paths that overlap any other. Only these are compared with each other, at most _MOST_LOOKS times.
    """

    def __init__(self, targets: Iterable[VolumePath]) -> None:
        self._involved = _overlapping([target.path for target in targets if target.path])
        self._seen: dict[VolumePath, str] = {}
        self._looks = _MOST_LOOKS

    def of(self, target: VolumePath) -> Iterator[VolumePath]:
        """Yields the earlier targets that this one overlaps, each once, in their order. Then records this one."""
        if target.path not in self._involved:
            return
        self._looks -= len(self._seen) * (len(target.path) // _LOOK + 1)
        if self._looks < 0:
            return
        path = f"{target.path}/"
        for other, below in self._seen.items():
            if path.startswith(below) or below.startswith(path):
                yield other
        self._seen.setdefault(target, path)


def _overlapping(paths: list[str]) -> set[str]:
    """The paths that come several times, are within another path, or contain another path."""
    found = {path for path, times in Counter(paths).items() if times > 1}
    around: list[str] = []
    for path in sorted(f"{path}/" for path in set(paths)):
        while around and not path.startswith(around[-1]):
            around.pop()
        if around:
            found.update((around[-1][:-1], path[:-1]))
        around.append(path)
    return found


def overlap_warnings(volumes: Iterable[JsonObject]) -> Iterator[str]:
    """Yields the warnings about overlapping paths in each volume."""
    for volume in volumes:
        name = volume.get("name", "")
        for key, shown, name_key in (("configMap", "ConfigMap", "name"), ("secret", "Secret", "secretName")):
            if items := (volume.get(key) or {}).get("items"):
                kind = f"{shown} {go_quote(volume[key].get(name_key, ''))}"
                yield from _within([_targets(items)], name, kind)
        if items := (volume.get("downwardAPI") or {}).get("items"):
            yield from _within([_targets(items)], name, "DownwardAPI")
        if "projected" in volume:
            sources = volume["projected"].get("sources") or ()
            yield from _within([_projected_targets(source) for source in sources], name, "Projected")


def _within(sources: list[list[VolumePath] | None], name: str, kind: str) -> Iterator[str]:
    """Yields the warnings about one volume. `sources` has the targets of each source; None for an empty source."""
    overlaps = _Overlaps(target for targets in sources for target in targets or ())
    for targets in sources:
        if targets is None:
            yield f"volume {go_quote(name)} ({kind}) has no sources provided"
        for target in targets or ():
            for other in overlaps.of(target):
                yield f"volume {go_quote(name)} ({kind}): overlapping paths: {target} with {other}"


def _targets(items: Iterable[JsonObject], source: str = "") -> list[VolumePath]:
    return [_target(item.get("path", ""), source) for item in items]


def _target(path: str, source: str) -> VolumePath:
    return VolumePath(path.rstrip("/"), source)


_CERTIFICATE = (
    ("certificateChainPath", "chain"),
    ("keyPath", "key"),
    ("credentialBundlePath", "credential bundle"),
)


def _projected_targets(source: JsonObject) -> list[VolumePath] | None:
    if not source:
        return None
    for key, shown in (("configMap", "ConfigMap"), ("secret", "Secret")):
        if items := (source.get(key) or {}).get("items"):
            return _targets(items, f"{shown} {go_quote(source[key].get('name', ''))}")
    if items := (source.get("downwardAPI") or {}).get("items"):
        return _targets(items, "DownwardAPI")
    if "serviceAccountToken" in source:
        return [_target(source["serviceAccountToken"].get("path", ""), "ServiceAccountToken")]
    if (bundle := source.get("clusterTrustBundle")) is not None:
        name = bundle["name"] if "name" in bundle else bundle.get("signerName", "")
        return [_target(bundle.get("path", ""), f"ClusterTrustBundle {go_quote(name)}")]
    certificate = source.get("podCertificate") or {}
    return [_target(certificate[key], f"PodCertificate {what}") for key, what in _CERTIFICATE if certificate.get(key)]
