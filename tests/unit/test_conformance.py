"""Which differences the comparison with recordings finds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.upstream.conformance import in_any_second
from tests.upstream.unhurried import LEAST, LONG, unhurried
from tests.upstream.unreached import MOMENT, shortened
from tests.upstream.waits import longest_first, waits

MAIN = {"manager": "m", "operation": "Update", "fieldsV1": {"f:spec": {"f:size": {}}}}
STATUS = {"manager": "m", "operation": "Update", "fieldsV1": {"f:status": {}}, "subresource": "status"}
RECORDED = {"patch": {"body": {"metadata": {"managedFields": [MAIN, STATUS]}, "spec": {"size": 1}}}}
ENTRIES = "[patch]/body/metadata/managedFields"
ABSENT = "<absent>"


def row(path: str, want: Any, got: Any) -> dict[str, Any]:
    return {"path": path, "want": want, "got": got}


MOVED = [  # the entries in the other order
    row(f"{ENTRIES}/0/fieldsV1/f:spec", MAIN["fieldsV1"]["f:spec"], ABSENT),  # type: ignore[index]
    row(f"{ENTRIES}/0/fieldsV1/f:status", ABSENT, {}),
    row(f"{ENTRIES}/0/subresource", ABSENT, "status"),
    row(f"{ENTRIES}/1/fieldsV1/f:spec", ABSENT, MAIN["fieldsV1"]["f:spec"]),  # type: ignore[index]
    row(f"{ENTRIES}/1/fieldsV1/f:status", {}, ABSENT),
    row(f"{ENTRIES}/1/subresource", "status", ABSENT),
]
SIZE = row("[patch]/body/spec/size", 1, 2)


def test_entries_of_managers_may_be_in_the_order_of_other_seconds() -> None:
    assert in_any_second(MOVED, RECORDED) == []
    assert in_any_second([*MOVED, SIZE], RECORDED) == [SIZE]


def message(entries: list[Any], size: int = 1) -> str:
    shown = json.dumps({"metadata": {"name": "${ns}", "managedFields": entries}, "spec": {"size": size}})
    return f" is invalid: patch: Invalid value: {json.dumps(shown)}: cannot parse"


def test_those_of_an_object_that_a_message_shows_may_be_in_another_order_too() -> None:
    path = "[patch]/body/message"
    assert in_any_second([row(path, message([MAIN, STATUS]), message([STATUS, MAIN]))], RECORDED) == []
    for other in (message([STATUS, MAIN], 2), message([MAIN]), message([STATUS, MAIN]) + "!", "managedFields", None):
        rows = [row(path, message([MAIN, STATUS]), other)]
        assert in_any_second(rows, RECORDED) == rows


@pytest.mark.parametrize(
    "rows",
    [
        MOVED[:-1],  # an entry has something else
        [row(f"{ENTRIES}/1/manager", "m", "n")],
        [*MOVED, row(f"{ENTRIES}/length", 2, 3)],
        [row(f"{ENTRIES}/0/fieldsV1/f:metadata/f:example.com/a", {}, ABSENT)],
    ],
)
def test_what_they_have_is_compared(rows: list[dict[str, Any]]) -> None:
    assert in_any_second(rows, RECORDED) == rows


def test_watches_that_wait_for_events_have_more_time(tmp_path: Path) -> None:
    recorded, kept = tmp_path / "recorded" / "watches", tmp_path / "copies"
    recorded.mkdir(parents=True)
    beside, short = {"watch": "GET /a", "background": True, "seconds": 3}, {"watch": "GET /a", "seconds": 1}
    ended, asked = {"watch": "GET /a", "max": 2}, {"request": "GET /a", "max": 1}
    scenario = {"steps": [beside, short, ended, asked]}
    (recorded / "a.yaml").write_text(yaml.safe_dump(scenario))
    (recorded / "b.yaml").write_text("steps: [{request: GET /a}]  # as it is")
    unhurried(recorded.parent, kept)
    found = yaml.safe_load((kept / "watches" / "a.yaml").read_text())
    assert found["steps"] == [
        *(beside | {"seconds": LONG}, short | {"seconds": LEAST}, ended | {"seconds": LONG}, asked)
    ]
    assert (kept / "watches" / "b.yaml").read_text() == "steps: [{request: GET /a}]  # as it is"


BESIDE = {"do": "events", "watch": "GET /a", "background": True, "seconds": 10}


@pytest.mark.parametrize(
    ("steps", "seconds"),
    [
        ([{"request": "GET /a"}, {"watch": "GET /a", "max": 1, "seconds": 10}], 0),
        ([{"watch": "GET /a"}, {"sleep": 0.5}, {"upgrade": "GET /a"}], 4.5),
        ([{"sleep": 2}, BESIDE, {"sleep": 3}, {"collect": "events"}], 12),
        ([BESIDE, {"sleep": 11}, {"collect": "events"}], 11),
        ([BESIDE], 0),
    ],
)
def test_a_scenario_waits_as_long_as_its_steps(steps: list[Any], seconds: float) -> None:
    assert waits({"steps": steps}) == seconds


def test_scenarios_that_wait_long_begin_first(tmp_path: Path) -> None:
    for name, seconds in (("a/one", 1), ("a/two", 3), ("b/three", 2), ("b/four", 2), ("c/five", 9)):
        (path := tmp_path / f"{name}.yaml").parent.mkdir(exist_ok=True)
        path.write_text(f"steps: [{{sleep: {seconds}}}]")
    found = longest_first([tmp_path / "a", tmp_path / "b"])
    assert [path.stem for path in found] == ["two", "four", "three", "one"]


def test_steps_that_were_recorded_without_what_they_wait_for_wait_a_moment(tmp_path: Path) -> None:
    steps = [
        {"do": "came", "until": 404},
        {"do": "never", "until": 403},
        {"do": "long", "until": 403, "within": 30},
        {"do": "value", "until": {"/status": "ok"}},
        {"do": "plain"},
    ]
    recorded = {"came": {"status": 404}, "value": {"status": 200}, "plain": {"status": 200}}
    recorded |= {each: {"status": 201} for each in ("never", "long")}
    for name, text in (
        ("scenarios/a/b.yaml", yaml.safe_dump({"steps": steps})),
        ("scenarios/a/other.yaml", "steps: [] # as it is"),
        ("golden/a/b.json", json.dumps(recorded)),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    made = shortened(tmp_path / "scenarios", tmp_path / "golden", tmp_path / "made")
    found = yaml.safe_load((made / "a/b.yaml").read_text(encoding="utf-8"))["steps"]
    assert [each.get("within") for each in found] == [None, MOMENT, MOMENT, None, None]
    assert (made / "a/other.yaml").read_text(encoding="utf-8") == "steps: [] # as it is"
