"""Snapshots: the values of all families at one moment, in a form for other processes, and their sums."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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
class FamilySnapshot:
    """One family: its declaration, and its children."""

    name: str
    kind: str
    help: str
    level: str
    labels: Labels
    bounds: tuple[float, ...]
    across: str
    samples: list[Sample]


@dataclass(frozen=True, slots=True)
class Form:
    """How a release shows a family, if not as it is declared.

    `level` "" and `labels` None are those of the declaration. With fewer labels, children are added up. With `only`, a
    label and a value, the others are left out.
    """

    hidden: bool = False
    level: str = ""
    labels: Labels | None = None
    only: tuple[str, str] | None = None


_AS_DECLARED = Form()
Forms = Callable[[], Mapping[str, Form]]


class _Shown:
    """The forms of this process's release."""

    forms: Forms = staticmethod(lambda: {})


def show(forms: Forms) -> None:
    """Sets a function that returns the forms of families, by name, from now on; others are shown as declared."""
    _Shown.forms = staticmethod(forms)


def snapshots() -> list[FamilySnapshot]:
    """All families, sorted by name. It takes a microsecond per child, and may run in another thread."""
    forms = _Shown.forms()
    shown = ((family, forms.get(family.name, _AS_DECLARED)) for family in declared())
    return [snapshot_of(family, form) for family, form in shown if not form.hidden]


def snapshot_of(family: AnyFamily, form: Form = _AS_DECLARED) -> FamilySnapshot:
    """One family in a form."""
    samples = [_sample(labels, child) for labels, child in family.children()]
    names = family.label_names if form.labels is None else form.labels
    if names is not family.label_names:
        samples = _narrowed(samples, family.label_names, names, form.only)
    level = form.level or family.level
    return FamilySnapshot(family.name, family.kind, family.help, level, names, family.bounds, family.across, samples)


def _narrowed(samples: list[Sample], declared: Labels, names: Labels, only: tuple[str, str] | None) -> list[Sample]:
    """Counters with some labels of those that are declared."""
    places, found = [declared.index(name) for name in names], dict[Labels, Sample]()
    for each in samples:
        if only is None or each.labels[declared.index(only[0])] == only[1]:
            labels = tuple(each.labels[place] for place in places)
            found.setdefault(labels, Sample(labels, 0)).value += each.value
    return list(found.values())


def _sample(labels: Labels, child: object) -> Sample:
    if isinstance(child, Histogram):
        return Sample(labels, child.total, list(child.counts), dict(child.exemplars or ()))
    return Sample(labels, child.value)  # type: ignore[attr-defined]  # a counter or a gauge


def together(processes: Iterable[Sequence[FamilySnapshot]]) -> list[FamilySnapshot]:
    """The combined families of several processes of one server, sorted by name. The first process's are changed."""
    found: dict[str, FamilySnapshot] = {}
    for process in processes:
        for family in process:
            known = found.get(family.name)
            if known is None:
                found[family.name] = family
            else:
                _add(known, family)
    return [found[name] for name in sorted(found)]


def _add(known: FamilySnapshot, other: FamilySnapshot) -> None:
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
