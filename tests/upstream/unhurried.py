"""Scenarios as they are sent on a busy machine: a watch has more time to get what it waits for.

A recorded watch ends after some seconds, or with its last event. Where it ends by the clock, a server and a client that
share their processor with others may not have come to the last event.
"""

from __future__ import annotations

from pathlib import Path

import yaml

from tests.upstream.waits import READS, WATCH

LONG = 10  # seconds
LEAST = 2  # seconds of a watch that ends by the clock: its events have to come before


def unhurried(scenarios: Path, to: Path) -> Path:
    """Copies scenarios: watches that go on beside other steps, and those that end with an event, have LONG seconds.

    The other watches show that nothing more comes, so they take as long as they may, and LEAST seconds. Returns the
    folder of the copies.
    """
    for path in scenarios.glob("*/*.yaml"):
        copy = to / path.relative_to(scenarios)
        copy.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text(encoding="utf-8")
        if "watch:" in text:
            scenario = yaml.load(text, READS)
            for step in scenario["steps"]:
                if "watch" in step:
                    ends_by_the_clock = "max" not in step and not step.get("background")
                    step["seconds"] = max(step.get("seconds", WATCH), LEAST if ends_by_the_clock else LONG)
            text = yaml.safe_dump(scenario, sort_keys=False)
        copy.write_text(text, encoding="utf-8")
    return to
