"""Snapshots: the values of all families at one moment, in a form for other processes, and their sums."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from storage.instruments.families import AnyFamily, Histogram, Labels, declared


@dataclass(slots=True)
class Sample:
    """One child: its label values and its number; for a histogram the sum, and the count of each bucket."""

    labels: Labels
    value: float
    counts: list[int] = field(default_factory=list)
    exemplars: dict[int, tuple[str, float]] = field(default_factory=dict)


@dataclass(slots=True)
class Snapshot:
    """One family: its declaration, and its children."""

    name: str
    kind: str
    help: str
    level: str
    labels: Labels
    bounds: tuple[float, ...]
    across: str
    samples: list[Sample]


def snapshots() -> list[Snapshot]:
    """All families, sorted by name. It takes a microsecond per child, and may run in another thread."""
    return [_of(family) for family in declared()]


def _of(family: AnyFamily) -> Snapshot:
    samples = [_sample(labels, child) for labels, child in family.children()]
    return Snapshot(
        family.name, family.kind, family.help, family.level, family.label_names, family.bounds, family.across, samples
    )


def _sample(labels: Labels, child: object) -> Sample:
    if isinstance(child, Histogram):
        return Sample(labels, child.total, list(child.counts), dict(child.exemplars or ()))
    return Sample(labels, child.value)  # type: ignore[attr-defined]  # a counter or a gauge


def together(processes: Iterable[Sequence[Snapshot]]) -> list[Snapshot]:
    """The combined families of several processes of one server, sorted by name. The first process's are changed."""
    found: dict[str, Snapshot] = {}
    for process in processes:
        for family in process:
            known = found.get(family.name)
            if known is None:
                found[family.name] = family
            else:
                _add(known, family)
    return [found[name] for name in sorted(found)]


def _add(known: Snapshot, other: Snapshot) -> None:
    children = {sample.labels: sample for sample in known.samples}
    for sample in other.samples:
        mine = children.get(sample.labels)
        if mine is None:
            known.samples.append(sample)
        elif known.kind == "gauge" and known.across == "max":
            mine.value = max(mine.value, sample.value)
        else:
            mine.value += sample.value
            mine.counts = [ours + theirs for ours, theirs in zip(mine.counts, sample.counts, strict=True)]
            mine.exemplars |= sample.exemplars
