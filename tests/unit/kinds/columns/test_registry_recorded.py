"""Tables against what a kube-apiserver answered for the same objects (python -m tests.upstream tables records it)."""

from __future__ import annotations

import re
from datetime import datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import pytest

from gateway.encodings.partial_metadata import ListMeta, Metadata, partial_list, partial_object
from gateway.encodings.table import Include, TableFormat, TableRow, row_of
from gateway.jsontypes import dumps, loads
from gateway.kinds.columns.custom import custom_columns
from gateway.kinds.columns.model import Columns
from gateway.kinds.columns.registry import columns_of
from gateway.release.gates import Gates

MINOR = "1.36"
ENABLED = Gates(MINOR).enabled
RECORDED = loads((Path(__file__).parent / "recorded.json").read_bytes())
TABLES = {f"{one['group']}/{one['version']}/{one['kind']}": one for one in RECORDED["tables"]}
FRAMES = RECORDED["frames"]
ITEMS = loads(RECORDED["objects"])["items"]
TAILS = {item["metadata"]["name"]: dumps(item)[1:] for item in ITEMS}
BOTH = (TAILS["nothing"], TAILS["three"])
MAPS = columns_of("", "ConfigMap")
HEAD = b'{"kind":"ConfigMap","apiVersion":"v1",'
WATCHED = {"watch": Include.METADATA, "watch-none": Include.NONE}


def _columns(table: dict[str, Any]) -> Columns:
    definitions = TABLES["apiextensions.k8s.io/v1/CustomResourceDefinition"]["rows"]
    for definition in (row["object"]["spec"] for row in definitions):
        if (definition["group"], definition["names"]["kind"]) == (table["group"], table["kind"]):
            [version] = [one for one in definition["versions"] if one["name"] == table["version"]]
            return custom_columns(version.get("additionalPrinterColumns"))
    return columns_of(table["group"], table["kind"], ENABLED)


def _objects(table: dict[str, Any], form: str) -> list[dict[str, Any]]:
    """The objects of a table in the form that its columns are made from."""
    group, _, version = form.rpartition("/")
    if form and (group, version) != (table["group"], table["version"]):
        table = TABLES[f"{group}/{version}/{table['kind']}"]
    return [row["object"] for row in table["rows"]]


@pytest.mark.parametrize("name", TABLES)
def test_columns_are_the_servers(name: str) -> None:
    assert [list(column[:4]) for column in _columns(TABLES[name]).definitions] == TABLES[name]["columns"]


@pytest.mark.parametrize("name", [name for name, table in TABLES.items() if table["rows"]])
def test_rows_are_the_servers(name: str) -> None:
    table = TABLES[name]
    columns, at = _columns(table), parsedate_to_datetime(table["date"]).timestamp()
    for row, obj in zip(table["rows"], _objects(table, columns.form), strict=True):
        ours = row_of(columns, dumps(obj)[1:])
        seen = [loads(ours.now_text(now) + b"null}") for now in (at - 1, at, at + 0.999, at + 1.999)]
        assert seen[0].get("conditions") == row.get("conditions")
        assert len(seen[0]["cells"]) == len(row["cells"])
        for i, cell in enumerate(row["cells"]):
            assert cell in [one["cells"][i] for one in seen], (obj["metadata"]["name"], i)


def test_flow_schemas_are_listed_by_precedence() -> None:
    table = TABLES["flowcontrol.apiserver.k8s.io/v1/FlowSchema"]
    columns = columns_of("flowcontrol.apiserver.k8s.io", "FlowSchema")
    rows = [(row_of(columns, dumps(row["object"])[1:]), b"") for row in reversed(table["rows"])]
    order = [loads(row.now_text(0) + b"null}")["cells"][0] for row, _ in TableFormat(columns).sorted(rows)]
    assert order == [row["object"]["metadata"]["name"] for row in table["rows"]]


def _same(ours: bytes, frame: str) -> None:
    """The same members in the same order; ages were taken at another time."""
    assert ours.endswith(b"\n") and frame.endswith("\n")
    theirs = re.sub(r'"cells":\[("\w+",\d+),"\d+s"', r'"cells":[\1,"0s"', frame)
    assert dumps(loads(ours)) == dumps(loads(theirs))


def _table(tails: tuple[bytes, ...], meta: ListMeta, columns: Columns = MAPS, **options: Any) -> bytes:
    now = max([_created(tail) for tail in tails], default=0)
    rows = [(row_of(columns, tail), tail) for tail in tails]
    return TableFormat(columns, head=HEAD, **options).of_list(meta, rows, now)[0]


def _created(tail: bytes) -> float:
    time = loads(b"{" + tail)["metadata"]["creationTimestamp"]
    return datetime.fromisoformat(time).timestamp()


def _meta(frame: str) -> ListMeta:
    meta = loads(FRAMES[frame])["metadata"]
    return ListMeta(int(meta["resourceVersion"]), meta.get("continue", ""), meta.get("remainingItemCount"))


@pytest.mark.parametrize(
    ("frame", "options"),
    [
        ("none", {"include": Include.NONE}),
        ("metadata", {}),
        ("metadata-beta", {"version": "v1beta1"}),
        ("object", {"include": Include.OBJECT}),
    ],
)
def test_a_list_is_written_as_the_server_writes_it(frame: str, options: dict[str, Any]) -> None:
    _same(_table(BOTH, _meta(frame), **options), FRAMES[frame])


def test_a_chunk_says_how_to_go_on() -> None:
    _same(_table(BOTH[:1], _meta("chunk")), FRAMES["chunk"])


def test_empty_lists_have_no_rows_or_null() -> None:
    _same(_table((), _meta("empty")), FRAMES["empty"])
    _same(_table((), _meta("empty-default"), columns_of("", "LimitRange")), FRAMES["empty-default"])


def test_one_object_is_a_table_at_its_own_version() -> None:
    ours = TableFormat(MAPS).of_object(_meta("one").revision, row_of(MAPS, BOTH[1]), BOTH[1], _created(BOTH[1]))
    _same(ours + b"\n", FRAMES["one"])


@pytest.mark.parametrize("frame", WATCHED)
def test_only_the_first_event_has_column_definitions(frame: str) -> None:
    table = TableFormat(MAPS, include=WATCHED[frame])
    for i, (tail, line) in enumerate(zip(BOTH, FRAMES[frame].splitlines(keepends=True), strict=True)):
        version = int(loads(b"{" + tail)["metadata"]["resourceVersion"])
        ours = table.of_object(version, row_of(MAPS, tail), tail, _created(tail), headers=i == 0)
        _same(b'{"type":"ADDED","object":' + ours + b"}\n", line)


def test_the_end_of_initial_events_is_told_without_objects_too() -> None:
    pods = columns_of("", "Pod")
    revision = _meta_of_event("watch-end")
    tail = b'"metadata":{"resourceVersion":"%d","annotations":{"k8s.io/initial-events-end":"true"}},' % revision
    tail += b'"spec":{"containers":null},"status":{}}'
    ours = TableFormat(pods, include=Include.NONE).of_object(revision, row_of(pods, tail), tail, 0)
    _same(b'{"type":"BOOKMARK","object":' + ours + b"}\n", FRAMES["watch-end"])


def _meta_of_event(frame: str) -> int:
    return int(loads(FRAMES[frame])["object"]["metadata"]["resourceVersion"])


def test_partial_metadata_is_the_servers() -> None:
    three = BOTH[1]
    _same(partial_object("v1", three, Metadata.of(three)) + b"\n", FRAMES["partial"])
    both = [(tail, Metadata.of(tail)) for tail in BOTH]
    _same(partial_list("v1", _meta("partial-list"), both), FRAMES["partial-list"])
    _same(partial_list("v1beta1", _meta("partial-list-beta"), both[:1]), FRAMES["partial-list-beta"])
    _same(partial_list("v1", _meta("partial-list-empty"), []), FRAMES["partial-list-empty"])


def test_metadata_is_cut_out_of_the_tail_or_kept_where_it_is_written_otherwise() -> None:
    cut = Metadata.of(BOTH[0])
    assert not cut.own and BOTH[0].startswith(cut.cut(BOTH[0]) + b"}")
    spaced = b'"metadata": {"name":"a"},"data":{}}'
    assert Metadata.of(spaced).cut(spaced) == b'"metadata":{"name":"a"}'


def test_descriptions_come_from_the_hook() -> None:
    table = TableFormat(MAPS, describe=lambda type_, field: f"{type_}|{field}")
    found = [one["description"] for one in loads(_table_of(table))["columnDefinitions"]]
    meta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
    assert found == [f"{meta}|name", "io.k8s.api.core.v1.ConfigMap|data", f"{meta}|creationTimestamp"]


def _table_of(table: TableFormat) -> bytes:
    return table.of_list(ListMeta(1), [], 0)[0]


def test_a_row_changes_when_an_age_does() -> None:
    obj = {"metadata": {"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z"}}
    row, start = TableRow(MAPS, b"", obj), _created(dumps(obj)[1:])
    assert b'"5s"' in row.now_text(start + 5) and row.until == start + 6
    assert b'"6s"' in row.now_text(row.until)
    assert b'"11m"' in row.now_text(start + 661) and row.until == start + 720
    assert b'"11m"' in row.now_text(start + 719.9)
    assert b'"12m"' in row.now_text(start + 720)
