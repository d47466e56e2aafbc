"""The exposition of metric families can be parsed by Prometheus' client."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_open_metrics
from prometheus_client.parser import text_string_to_metric_families as read_text

from storage.instruments import families
from storage.instruments.exposition import exposition
from storage.instruments.families import OVERFLOW, STABLE, counter, declared, gauge, histogram
from storage.instruments.snapshot import snapshots, together


@pytest.fixture(autouse=True)
def _own_families(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(families, "_declared", {})
    yield


def _shown() -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    found = read_text(exposition(snapshots()).decode())
    return {(each.name, tuple(sorted(each.labels.items()))): each.value for family in found for each in family.samples}


def test_counters_and_gauges_are_read_with_their_labels() -> None:
    requests = counter("requests_total", 'Requests, "good" and bad \\ others.', "verb", "code", level=STABLE)
    requests.labels("GET", "200").inc()
    requests.labels("GET", "200").inc(2)
    requests.labels('say "\\n\n', "404").inc()
    open_ = gauge("open", "How many are open.").labels()
    open_.inc(5)
    open_.dec()
    assert _shown() == {
        ("requests_total", (("code", "200"), ("verb", "GET"))): 3,
        ("requests_total", (("code", "404"), ("verb", 'say "\\n\n'))): 1,
        ("open", ()): 4,
    }


def test_buckets_hold_values_up_to_their_bound_and_add_up() -> None:
    seconds = histogram("seconds", "How long.", "verb", buckets=(0.1, 1)).labels("GET")
    for value in (0.05, 0.1, 0.5, 1.5):
        seconds.observe(value)
    assert _shown() == {
        ("seconds_bucket", (("le", "0.1"), ("verb", "GET"))): 2,
        ("seconds_bucket", (("le", "1"), ("verb", "GET"))): 3,
        ("seconds_bucket", (("le", "+Inf"), ("verb", "GET"))): 4,
        ("seconds_sum", (("verb", "GET"),)): 2.15,
        ("seconds_count", (("verb", "GET"),)): 4,
    }


def test_bounds_are_written_as_go_writes_them() -> None:
    bounds = (0.005, 999_999, 1e6, 1.05e6, 1e9, 12_345_678)
    histogram("sizes", "How large.", buckets=bounds).labels().observe(1)
    text = exposition(snapshots()).decode()
    assert [line.split('"')[1] for line in text.splitlines() if "_bucket" in line] == [
        *("0.005", "999999", "1e+06", "1.05e+06", "1e+09", "1.2345678e+07", "+Inf")
    ]


def test_labels_and_children_stand_in_the_order_of_names() -> None:
    requests = counter("requests_total", "Requests.", "verb", "code")
    for verb, code in (("LIST", "200"), ("GET", "404"), ("GET", "200")):
        requests.labels(verb, code).inc()
    histogram("seconds", "How long.", "verb", "group", buckets=(1,)).labels("GET", "apps").observe(2)
    assert [line for line in exposition(snapshots()).decode().splitlines() if not line.startswith("#")] == [
        'requests_total{code="200",verb="GET"} 1',
        'requests_total{code="200",verb="LIST"} 1',
        'requests_total{code="404",verb="GET"} 1',
        'seconds_bucket{group="apps",verb="GET",le="1"} 0',
        'seconds_bucket{group="apps",verb="GET",le="+Inf"} 1',
        'seconds_sum{group="apps",verb="GET"} 2',
        'seconds_count{group="apps",verb="GET"} 1',
    ]


def test_help_says_how_stable_a_family_is() -> None:
    counter("stable_total", "Something.", level=STABLE).labels().inc()
    assert b"# HELP stable_total [STABLE] Something.\n# TYPE stable_total counter\n" in exposition(snapshots())


def test_open_metrics_has_the_trace_of_a_slow_request() -> None:
    seconds = histogram("seconds", "How long.", buckets=(0.1, 1)).labels()
    seconds.observe(0.5)
    seconds.exemplify(0.5, "4bf92f3577b34da6a3ce929d0e0e4736")
    counter("done_total", "What is done.").labels().inc()
    counter("odd_count", "A counter of another name.").labels().inc()
    found = {family.name: family for family in read_open_metrics(exposition(snapshots(), True).decode())}
    exemplars = [each.exemplar for each in found["seconds"].samples if each.labels.get("le") == "1"]
    assert exemplars[0].labels == {"trace_id": "4bf92f3577b34da6a3ce929d0e0e4736"}
    assert found["done"].type == "counter"
    assert b"trace_id" not in exposition(snapshots())


def test_numbers_that_are_told_are_those_of_the_moment() -> None:
    sizes = {("pods",): 3.0, ("nodes",): 1.0}
    gauge("objects", "How many.", "resource").reads(lambda: sizes)
    assert _shown() == {("objects", (("resource", "pods"),)): 3, ("objects", (("resource", "nodes"),)): 1}
    del sizes["nodes",]
    assert _shown() == {("objects", (("resource", "pods"),)): 3}


def test_a_family_without_children_is_not_shown() -> None:
    counter("nothing_total", "Nothing.", "label")
    assert exposition(snapshots()) == b"\n"


def test_names_are_declared_once() -> None:
    counter("one_total", "One.")
    with pytest.raises(ValueError, match="one_total"):
        gauge("one_total", "Another.")


def test_who_names_too_few_labels_is_told() -> None:
    with pytest.raises(ValueError, match="verb, code"):
        counter("requests_total", "Requests.", "verb", "code").labels("GET")


def test_made_up_names_use_no_more_memory_than_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(families, "MOST_CHILDREN", 3)
    family = counter("requests_total", "Requests.", "resource")
    for number in range(10):
        family.labels(f"r{number}").inc()
    assert {labels[0]: child.value for labels, child in family.children()} == {"r0": 1, "r1": 1, "r2": 1, OVERFLOW: 7}


def test_processes_are_added_up_but_for_what_only_the_largest_tells() -> None:
    requests = counter("requests_total", "Requests.", "verb")
    newest = gauge("revision", "The newest.", across="max").labels()
    seconds = histogram("seconds", "How long.", buckets=(1,)).labels()
    requests.labels("GET").inc(2)
    newest.set(7)
    seconds.observe(0.5)
    one = snapshots()
    requests.labels("LIST").inc()
    newest.set(5)
    seconds.observe(3)
    shown = {each.name: each.samples for each in together([one, snapshots()])}
    assert {sample.labels: sample.value for sample in shown["requests_total"]} == {("GET",): 4, ("LIST",): 1}
    assert shown["revision"][0].value == 7
    assert (shown["seconds"][0].counts, shown["seconds"][0].value) == ([2, 1], 4)


def test_families_are_told_by_name() -> None:
    counter("b_total", "B.")
    counter("a_total", "A.")
    assert [each.name for each in declared()] == ["a_total", "b_total"]
