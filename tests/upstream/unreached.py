"""Scenarios in which a step does not wait for what never comes.

A step with `until` is repeated until a status or a value is there, or until its time is over. In recordings of some
minors it never came: those minors do not serve what the step waits for. So the recording is the last answer, which is
the same after a moment as after the whole time.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from tests.upstream.waits import READS

MOMENT = 2  # seconds


def shortened(scenarios: Path, golden: Path, to: Path) -> Path:
    """Copies the scenarios to `to`; steps that were recorded without what they wait for wait a moment. Returns `to`."""
    for path in scenarios.glob("*/*.yaml"):
        name = path.relative_to(scenarios)
        copy, recording = to / name, golden / name.with_suffix(".json")
        copy.parent.mkdir(parents=True, exist_ok=True)
        recorded = json.loads(recording.read_text(encoding="utf-8")) if recording.exists() else {}
        text = path.read_text(encoding="utf-8")
        scenario = yaml.load(text, READS) if "until:" in text else {"steps": []}
        never = [step for step in scenario["steps"] if _never_came(step, recorded)]
        for step in never:
            step["within"] = min(MOMENT, step.get("within", MOMENT))
        copy.write_text(yaml.safe_dump(scenario, sort_keys=False) if never else text, encoding="utf-8")
    return to


def _never_came(step: dict[str, Any], recorded: dict[str, Any]) -> bool:
    """Whether a step waited for a status that is not the recorded one."""
    status = recorded.get(step.get("do", ""), {}).get("status")
    return isinstance(step.get("until"), int) and status not in (None, step["until"])
