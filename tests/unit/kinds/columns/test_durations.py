"""Ages in words, and rows as JSON with ages that are filled in when they are sent."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.encodings.partial_metadata import ListMeta, Metadata
from gateway.encodings.table import Include, TableFormat, TableRow, row_of
from gateway.jsontypes import dumps, json_float, loads
from gateway.kinds.columns.cell_text import encoded, printed
from gateway.kinds.columns.durations import DAY, HOUR, MINUTE, YEAR, epoch, human_duration, seconds_between
from gateway.kinds.columns.model import NAME, Cell, Column, Columns, Elapsed


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-2, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119, "119s"),
        (2 * MINUTE, "2m"),
        (10 * MINUTE - 1, "9m59s"),
        (10 * MINUTE, "10m"),
        (3 * HOUR - 1, "179m"),
        (3 * HOUR, "3h"),
        (8 * HOUR - 1, "7h59m"),
        (2 * DAY - 1, "47h"),
        (2 * DAY, "2d"),
        (2 * DAY + HOUR, "2d1h"),
        (8 * DAY - 1, "7d23h"),
        (2 * YEAR - 1, "729d"),
        (2 * YEAR, "2y"),
        (8 * YEAR - 1, "7y364d"),
        (8 * YEAR, "8y"),
    ],
)
def test_durations_have_two_or_three_figures(seconds: int, text: str) -> None:
    assert human_duration(seconds) == text


def test_durations_end_where_gos_do() -> None:
    assert human_duration(seconds_between(epoch("0000-01-01T00:00:00Z"), epoch("2026-01-01T00:00:00Z"))) == "292y"
    assert seconds_between(10.5, 10.0) == 0


_times = st.floats(0, 2e9)
_cells = st.lists(
    st.text(max_size=5)
    | st.integers(-(1 << 53), 1 << 53)
    | st.booleans()
    | st.none()
    | st.floats(-1e9, 1e9)
    | st.builds(Elapsed, _times, st.sampled_from(["", "3 ("]), st.sampled_from(["", " ago)"])),
    min_size=1,
    max_size=6,
)


def _row(cells: list[Cell], completed: tuple[str, str] | None = None) -> TableRow:
    columns = Columns((NAME,), lambda obj: cells, lambda obj: completed)
    return TableRow(columns, b"", {"metadata": {"name": "a"}})


@given(_cells, _times, st.none() | st.just(("Done", 'It is "done".')))
def test_a_row_is_its_cells_as_json(cells: list[Cell], now: float, completed: tuple[str, str] | None) -> None:
    found = loads(_row(cells, completed).now_text(now) + b"null}")
    assert found["cells"] == [cell.text_until(now)[0] if isinstance(cell, Elapsed) else cell for cell in cells]
    assert [one["reason"] for one in found.get("conditions", ())] == ([completed[0]] if completed else [])


@given(_cells, _times, st.floats(0, 1))
def test_a_rows_text_stays_right_until_it_says(cells: list[Cell], now: float, share: float) -> None:
    row = _row(cells)
    text = row.now_text(now)
    later = now + (min(row.until, now + 1e6) - now) * share
    if later < row.until:
        assert _row(cells).now_text(later) == text


@given(st.lists(_cells, max_size=4), _times, st.sampled_from(Include))
def test_many_rows_are_each_row_by_itself(rows: list[list[Cell]], now: float, include: Include) -> None:
    tail = b'"metadata":{"name":"a"},"data":{}}'
    table = TableFormat(Columns((NAME,), lambda obj: []), include=include, head=b'{"kind":"A",')
    made = [(_row(cells), tail) for cells in rows]
    joined, until = table.rows(made, now)
    assert joined == b",".join([table.item(row, tail, now) for row, _ in made])
    assert until == min([row.until for row, _ in made], default=float("inf"))


@given(st.dictionaries(st.text(max_size=3), st.text(max_size=3) | st.integers(0, 9), max_size=3))
def test_metadata_comes_out_whole(members: dict[str, Any]) -> None:
    tail = dumps({"metadata": members, "spec": {"metadata": {}}})[1:]
    assert Metadata.of(tail).cut(tail) == b'"metadata":' + dumps(members)


@pytest.mark.parametrize(
    ("annotations", "left"),
    [({"a": "1", "hidden": "2"}, b',"annotations":{"a":"1"}'), ({"hidden": "2"}, b"")],
)
def test_annotations_that_are_fields_are_no_metadata(annotations: dict[str, str], left: bytes) -> None:
    tail = dumps({"metadata": {"name": "a", "annotations": annotations}, "spec": {}})[1:]
    fields = frozenset({"hidden"})
    assert Metadata.of(tail, fields).cut(tail) == b'"metadata":{"name":"a"%b}' % left
    columns = Columns((NAME,), lambda obj: [])
    row = TableFormat(columns).item(row_of(columns, tail, fields), tail, 0)
    assert row.endswith(b'"metadata":{"name":"a"%b}}}' % left)


@pytest.mark.parametrize(
    ("number", "as_json", "as_text"),
    [
        (1.0, "1", "1"),
        (-7.5, "-7.5", "-7.5"),
        (123456.5, "123456.5", "123456.5"),
        (1234567.5, "1234567.5", "1.2345675e+06"),
        (1e20, "100000000000000000000", "1e+20"),
        (1e21, "1e+21", "1e+21"),
        (0.0001, "0.0001", "0.0001"),
        (0.00001, "0.00001", "1e-05"),
        (1e-7, "1e-7", "1e-07"),
        (-0.0, "-0", "-0"),
    ],
)
def test_floats_are_written_as_go_writes_them(number: float, as_json: str, as_text: str) -> None:
    assert (json_float(number), printed(number)) == (as_json, as_text)


def test_objects_are_shown_as_json() -> None:
    assert encoded({"b": [1.0, "<&>"], "a": None}) == '{"a":null,"b":[1,"\\u003c\\u0026\\u003e"]}'


def test_a_column_may_bring_its_description() -> None:
    columns = Columns((NAME, Column("Size", description="How large it is.")), lambda obj: [])
    head = TableFormat(columns, describe=lambda type_, field: field).list_head(ListMeta(1))
    assert [one["description"] for one in loads(head + b"[]}")["columnDefinitions"]] == ["name", "How large it is."]
