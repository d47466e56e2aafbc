"""Each control plane has its own series, up to a number of them, as long as it exists."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from gateway.clusters import metrics
from storage.instruments.families import AnyFamily


def row(name: str, requests: int, watches: int | None) -> Any:
    services = SimpleNamespace(watches=SimpleNamespace(total=lambda: watches))
    awake = None if watches is None else SimpleNamespace(gateway=SimpleNamespace(services=services))
    return SimpleNamespace(described=SimpleNamespace(name=name, uid=f"uid of {name}"), requests=requests, awake=awake)


def shown(family: AnyFamily) -> dict[str, float]:
    family._refresh()  # type: ignore[union-attr]  # as at a scrape
    return {labels[0]: child.value for labels, child in family._children.items()}  # type: ignore[union-attr]


def test_series_are_bounded_and_go_with_their_control_planes() -> None:
    rows = [row("a", 3, 2), row("b", 5, None), row("c", 7, 1), row("d", 9, 1)]
    try:
        metrics.follow(lambda: rows, 2)
        assert shown(metrics.REQUESTS) == {"a": 3, "b": 5, "": 16}
        assert shown(metrics.WATCHES) == {"a": 2, "b": 0, "": 2}
        assert shown(metrics.AWAKE) == {"a": 1, "b": 0, "": 2}
        del rows[0], rows[2]
        rows.append(row("e", 1, None))
        assert shown(metrics.REQUESTS) == {"b": 5, "": 16, "e": 1}, "a counter never falls, and c keeps its label"
        assert shown(metrics.WATCHES) == {"b": 0, "": 1, "e": 0}
    finally:
        metrics.follow(list, 0)
    assert shown(metrics.REQUESTS) == {}
