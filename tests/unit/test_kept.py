"""The limits and results of benchmarks in docs/performance/measurements.md, and how the page shows them."""

from __future__ import annotations

from pathlib import Path

from tests.benchmarks.kept import Row, keep, measured, row_of
from tests.benchmarks.page import apart, table


def test_a_row_replaces_the_one_of_the_same_case_and_leaves_the_others(tmp_path: Path) -> None:
    path = tmp_path / "measured.json"
    keep([Row("Crowds", "GET p99", 12.0, "ms"), Row("Crowds", "delivered p99", 30.0, "ms")], "idle", path)
    keep([Row("Crowds", "GET p99", 9.0, "ms")], "idle", path)
    assert [each["ours"] for each in measured(path).values()] == [9.0, 30.0]
    assert row_of(measured(path)["Crowds", "GET p99"]) == Row("Crowds", "GET p99", 9.0, "ms")


def test_a_limit_is_of_the_number_or_of_the_ratio() -> None:
    assert not Row("g", "c", 21.0, "ms", at_most=20.0).holds
    assert Row("g", "c", 21.0, "ms", "kube-apiserver", 100.0, at_most=0.25, limits_ratio=True).holds
    assert not Row("g", "c", 21.0, "ms", "kube-apiserver", 10.0, at_most=2.0, limits_ratio=True).holds
    assert not Row("g", "c", 2.0, "events/s", at_least=2.5).holds


def test_the_page_shows_a_group_with_what_is_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "measured.json"
    rows = [
        Row("Crowds", "GET p99", 21.0, "ms", "kube-apiserver", 240.0, at_most=20.0),
        Row("Crowds", "memory of a watch", 33.5, "kB"),
    ]
    keep(rows, "10 000 watches, idle", path)
    text = "".join(apart(measured(path).values()))
    assert "### Crowds" in text and "10 000 watches, idle" in text
    assert "case | gateway | kube-apiserver | limit\n" in text
    assert "\nGET p99 | 21 ms | 240 ms | ≤20: **not kept**\n" in text
    assert "\nmemory of a watch | 33.5 kB |  |\n" in text
    keep([Row("Starts", "ready", 20.0, "s", at_most=10.0), Row("Starts", "pods, first served", 1.0, "s")], "", path)
    text = "".join(apart(measured(path).values()))
    assert "case | gateway | limit\n---|---:|---:\nready | 20 s | ≤10: **not kept**\n" in text, (
        "empty columns are left out"
    )
    assert "first served" not in text, "the page leaves out some rows"


def test_a_group_without_another_server_is_in_the_table_alone(tmp_path: Path) -> None:
    path = tmp_path / "measured.json"
    keep([Row("Starts", "ready", 20.0, "s", at_most=30.0)], "idle", path)
    assert "### Starts" not in "".join(apart(measured(path).values()))
    assert "Starts,ready,20 s,,,≤30," in table(measured(path).values())
