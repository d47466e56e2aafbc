"""Families of metrics and their children, which hold the numbers.

prometheus_client's children take a lock and walk through their buckets. A server that answers a GET in some tens of
microseconds, all of it on one thread, needs neither: these children take a quarter of the time. Counts by other threads
are not lost either: CPython switches threads where a function begins or a loop repeats, and not in between.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Generic, Literal, TypeVar

from storage.instruments.owners import By, Key, owners

ALPHA, BETA, STABLE = "ALPHA", "BETA", "STABLE"
"""How much others may rely on a family (KEP-1209, "Metrics stability framework")."""

DEFAULT_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds; Go's client has them
MOST_CHILDREN = 10_000
"""Of one family: who makes names up makes no more. Whatever comes then is counted as `OVERFLOW`."""
OVERFLOW = "overflow"

Labels = tuple[str, ...]
Across = Literal["sum", "max"]
"""What the gauges of several processes of one server are together."""


class Counter:
    """A number that only grows."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: float = 0

    def inc(self, by: float = 1) -> None:
        self.value += by


class Gauge:
    """A number that comes and goes."""

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
    """How many values there were up to each bound: `counts` has one more than there are bounds, not added up yet."""

    __slots__ = ("_first", "bounds", "counts", "exemplars", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds, self._first = bounds, bounds[0]  # where most values are, and which need not be looked for
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0
        self.exemplars: dict[int, tuple[str, float]] | None = None  # bucket -> trace id and value

    def observe(self, value: float) -> None:
        self.counts[0 if value <= self._first else bisect_left(self.bounds, value)] += 1
        self.total += value

    def exemplify(self, value: float, trace_id: str) -> None:
        """Remembers the trace of a value, which has been observed, as the example of its bucket."""
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

    def belongs(self, of: Sequence[By]) -> None:
        """Says by which labels its children have owners, with which they go. Raises ValueError for no label of it."""
        self._of = [(each.what, [self.label_names.index(name) for name in each.names]) for each in of]

    @property
    def owned_by(self) -> set[str]:
        """The labels that name an owner."""
        return {self.label_names[place] for _, places in self._of for place in places}

    def labels(self, *values: str) -> Child:
        """The child of these values, one for each label in the family's order. Raises ValueError for too many or few.

        To be resolved once where it is wanted often. One whose owner has gone counts for nobody.
        """
        found = self._children.get(values)
        if found is not None:
            return found
        if len(values) != len(self.label_names):
            raise ValueError(f"{self.name} has the labels {', '.join(self.label_names)}")
        keys = self._owners_of(values)
        if owners.gone(keys):
            return self._made()
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

    def forget(self, *values: str) -> None:
        """Drops a child: what it counted is gone for good."""
        self.drop(values)

    def drop(self, labels: Labels) -> None:
        """The same, by the labels' values."""
        if self._children.pop(labels, None) is not None:
            owners.disown(self._owners_of(labels), self, labels)

    def children(self) -> list[tuple[Labels, Child]]:
        """All of them, with their labels' values."""
        self._refresh()
        return list(self._children.items())

    def _refresh(self) -> None:
        """Looks at what is not counted here."""

    def _made(self) -> Child:
        raise NotImplementedError


Number = TypeVar("Number", Counter, Gauge)


class _Numbers(Family[Number]):
    """Families of single numbers, which may be read elsewhere."""

    _read: Callable[[], Mapping[Labels, float]] | None = None

    def reads(self, values: Callable[[], Mapping[Labels, float]]) -> None:
        """Sets the function that gives the numbers of all children, by their labels' values, at each scrape."""
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


def counter(name: str, help_: str, *labels: str, level: str = ALPHA, of: Sequence[By] = ()) -> Counters:
    """Declares a family of counters. Raises ValueError for a name that is taken.

    `of` says by which labels children have owners, with which they go.
    """
    return _declare(Counters(name, help_, labels, level), of)


def gauge(
    name: str, help_: str, *labels: str, level: str = ALPHA, across: Across = "sum", of: Sequence[By] = ()
) -> Gauges:
    """Declares a family of gauges; `across` says what those of --workers processes are together."""
    return _declare(Gauges(name, help_, labels, level, across), of)


def histogram(
    name: str,
    help_: str,
    *labels: str,
    buckets: Sequence[float] = DEFAULT_BUCKETS,
    level: str = ALPHA,
    of: Sequence[By] = (),
) -> Histograms:
    """Declares a family of histograms; `buckets` are the upper bounds, but for the last, which is infinite."""
    return _declare(Histograms(name, help_, labels, level, tuple(map(float, buckets))), of)


def exponential(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Bounds of which each is `factor` times the one before."""
    return tuple(start * factor**step for step in range(count))


def declared() -> Iterator[AnyFamily]:
    """All families of modules that have been imported, by name."""
    for name in sorted(_declared):
        yield _declared[name]


F = TypeVar("F", Counters, Gauges, Histograms)


def _declare(family: F, of: Sequence[By]) -> F:
    if family.name in _declared:
        raise ValueError(f"{family.name} is declared already")
    family.belongs(of)
    _declared[family.name] = family
    return family
