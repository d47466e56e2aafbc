"""Scenarios as they are sent on a busy machine: a watch has more time to get what it waits for.

A recorded watch ends after some seconds, or with its last event. Where it ends by the clock, a server and a client that
share their processor with others may not have come to the last event.
"""

from __future__ import annotations

from pathlib import Path

import yaml

LONG = 10  # seconds


def unhurried(scenarios: Path, to: Path) -> Path:
    """Copies scenarios: watches that go on beside other steps, and those that end with an event, have LONG seconds.

    The other watches show that nothing more comes, so they take as long as they may. Returns the folder of the copies.
    """
    for path in scenarios.glob("*/*.yaml"):
        copy = to / path.relative_to(scenarios)
        copy.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text(encoding="utf-8")
        if "watch:" in text:
            scenario = yaml.safe_load(text)
            for step in scenario["steps"]:
                if "watch" in step and ("max" in step or step.get("background")):
                    step["seconds"] = max(step.get("seconds", 0), LONG)
            text = yaml.safe_dump(scenario, sort_keys=False)
        copy.write_text(text, encoding="utf-8")
    return to
