"""Families of metrics and their children, which hold the numbers.

prometheus_client's children take a lock and scan their buckets. This server answers a GET in some tens of microseconds,
all on one thread, and needs neither: these children take a quarter of the time. Counts by other threads are not lost
either: CPython switches threads only where a function begins or a loop repeats.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, repeat
from operator import mul
from typing import Generic, Literal, TypeVar

from storage.instruments.owners import Key, OwnerLabels, owners

ALPHA, BETA, STABLE = "ALPHA", "BETA", "STABLE"
"""The stability level of a family (KEP-1209, "Metrics stability framework")."""

DEFAULT_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds; Go's client has them
MOST_CHILDREN = 10_000
"""Of one family: a bound for clients that invent names. Values of further children are counted as `OVERFLOW`."""
OVERFLOW = "overflow"

Labels = tuple[str, ...]
Across = Literal["sum", "max"]
"""How the gauges of several processes of one server are combined."""


class Counter:
    """A number that only grows."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: float = 0

    def inc(self, by: float = 1) -> None:
        self.value += by


class Gauge:
    """A number that may grow and fall."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: float = 0

    def inc(self, by: float = 1) -> None:
        self.value += by

    def dec(self, by: float = 1) -> None:
        self.value -= by

    def set(self, value: float) -> None:
        self.value = value


class Histogram:
    """Counts values by bucket: `counts` has one number per bound and one for greater values; it is not cumulative."""

    __slots__ = ("_first", "bounds", "counts", "exemplars", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds, self._first = bounds, bounds[0]  # most values are in the first bucket: it needs no search
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0
        self.exemplars: dict[int, tuple[str, float]] | None = None  # bucket -> trace id and value

    def observe(self, value: float) -> None:
        self.counts[0 if value <= self._first else bisect_left(self.bounds, value)] += 1
        self.total += value

    def observe_many(self, value: float, times: int) -> None:
        """As `observe`, for a value that was found several times."""
        self.counts[bisect_left(self.bounds, value)] += times
        self.total += value * times

    def exemplify(self, value: float, trace_id: str) -> None:
        """Keeps the trace ID of an observed value as the exemplar of its bucket."""
        if self.exemplars is None:
            self.exemplars = {}
        self.exemplars[bisect_left(self.bounds, value)] = (trace_id, value)


Child = TypeVar("Child", Counter, Gauge, Histogram)


class Family(Generic[Child]):
    """A name with a child for each combination of its labels' values."""

    kind = ""
    across: Across = "sum"
    bounds: tuple[float, ...] = ()

    def __init__(self, name: str, help_: str, labels: Labels, level: str) -> None:
        self.name, self.help, self.label_names, self.level = name, help_, labels, level
        self._children: dict[Labels, Child] = {}
        self._of: list[tuple[str, list[int]]] = []

    def belongs(self, of: Sequence[OwnerLabels]) -> None:
        """Declares which labels name the owners of its children. Raises ValueError for an unknown label."""
        self._of = [(each.what, [self.label_names.index(name) for name in each.names]) for each in of]

    @property
    def owned_by(self) -> set[str]:
        """The labels that name an owner."""
        return {self.label_names[place] for _, places in self._of for place in places}

    def labels(self, *values: str) -> Child:
        """The child of these label values, in the order of the family's labels. Raises ValueError for a wrong number.

        Hot code looks its child up once. For an owner that has gone, it returns a child that is not exposed.
        """
        found = self._children.get(values)
        if found is not None:
            return found
        if len(values) != len(self.label_names):
            raise ValueError(f"{self.name} has the labels {', '.join(self.label_names)}")
        keys = self._owners_of(values)
        if owners.have_gone(keys):
            return self._made()
        if owners.are_rest(keys):
            return self._children.setdefault(self._without_owners(values), self._made())
        if len(self._children) >= MOST_CHILDREN:
            return self._children.setdefault((OVERFLOW,) * len(values), self._made())
        owners.own(keys, self, values)
        return self._children.setdefault(values, self._made())

    def _owners_of(self, values: Labels) -> list[Key]:
        found: list[Key] = []
        for what, places in self._of:
            key: Key = tuple([values[place] for place in places])
            found.append((what, *key) if what else key)
        return found

    def _without_owners(self, values: Labels) -> Labels:
        """The labels of the child of all owners that have none of their own; versions are chosen as freely as names."""
        hidden = self.owned_by | {"version"}
        return tuple(
            OVERFLOW if name in hidden else value for name, value in zip(self.label_names, values, strict=True)
        )

    def forget(self, *values: str) -> None:
        """Drops a child with its numbers."""
        self.drop(values)

    def drop(self, labels: Labels) -> None:
        """As `forget`, with the label values as a tuple."""
        if self._children.pop(labels, None) is not None:
            owners.disown(self._owners_of(labels), self, labels)

    def children(self) -> list[tuple[Labels, Child]]:
        """All children, with their label values."""
        self._refresh()
        return list(self._children.items())

    def _refresh(self) -> None:
        """Updates children whose values come from a function (`reads`)."""

    def _made(self) -> Child:
        raise NotImplementedError


Number = TypeVar("Number", Counter, Gauge)


class _Numbers(Family[Number]):
    """Families of single numbers, which may come from a function."""

    _read: Callable[[], Mapping[Labels, float]] | None = None

    def reads(self, values: Callable[[], Mapping[Labels, float]]) -> None:
        """Sets the function that returns the numbers of all children, by their label values, at each scrape."""
        self._read = values

    def _refresh(self) -> None:
        if self._read is not None:
            self._children.clear()
            for labels, value in self._read().items():
                self.labels(*labels).value = value


class Counters(_Numbers[Counter]):
    """A family of counters."""

    kind = "counter"

    def _made(self) -> Counter:
        return Counter()


class Gauges(_Numbers[Gauge]):
    """A family of gauges."""

    kind = "gauge"

    def __init__(self, name: str, help_: str, labels: Labels, level: str, across: Across) -> None:
        super().__init__(name, help_, labels, level)
        self.across = across

    def _made(self) -> Gauge:
        return Gauge()


class Histograms(Family[Histogram]):
    """A family of histograms."""

    kind = "histogram"

    def __init__(self, name: str, help_: str, labels: Labels, level: str, bounds: tuple[float, ...]) -> None:
        super().__init__(name, help_, labels, level)
        self.bounds = bounds

    def _made(self) -> Histogram:
        return Histogram(self.bounds)


AnyFamily = Counters | Gauges | Histograms

_declared: dict[str, AnyFamily] = {}


def counter(name: str, help_: str, *labels: str, level: str = ALPHA, of: Sequence[OwnerLabels] = ()) -> Counters:
    """Declares a family of counters. Raises ValueError if the name is already declared.

    `of` says which labels name the owners of its children.
    """
    return _declare(Counters(name, help_, labels, level), of)


def gauge(
    name: str, help_: str, *labels: str, level: str = ALPHA, across: Across = "sum", of: Sequence[OwnerLabels] = ()
) -> Gauges:
    """Declares a family of gauges; `across` says how the gauges of --workers processes are combined."""
    return _declare(Gauges(name, help_, labels, level, across), of)


def histogram(
    name: str,
    help_: str,
    *labels: str,
    buckets: Sequence[float] = DEFAULT_BUCKETS,
    level: str = ALPHA,
    of: Sequence[OwnerLabels] = (),
) -> Histograms:
    """Declares a family of histograms; `buckets` are the upper bounds, without the last one, which is infinite."""
    return _declare(Histograms(name, help_, labels, level, tuple(map(float, buckets))), of)


def exponential(start: float, factor: float, count: int) -> tuple[float, ...]:
    """`count` bounds: `start`, then each `factor` times the one before, rounded each time, as Go's client does it."""
    return tuple(accumulate(repeat(factor, count - 1), mul, initial=start))


def declared() -> Iterator[AnyFamily]:
    """All families of the imported modules, sorted by name."""
    for name in sorted(_declared):
        yield _declared[name]


F = TypeVar("F", Counters, Gauges, Histograms)


def _declare(family: F, of: Sequence[OwnerLabels]) -> F:
    if family.name in _declared:
        raise ValueError(f"{family.name} is declared already")
    family.belongs(of)
    _declared[family.name] = family
    if not family.label_names and not isinstance(family, Gauges):
        family.labels()  # as in Go's client: a metric without labels is shown before its first event
    return family
