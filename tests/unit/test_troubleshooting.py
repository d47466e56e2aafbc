"""docs/how-to/troubleshooting.md quotes messages exactly.

The rules and the dashboard of docs/how-to/monitoring.md use existing metrics.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from hack.metrics import families

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "troubleshooting.md").read_text(encoding="utf-8")
OF_OTHERS = (
    "x509: ",
    "Address already",
    "no route",
    "502",
    "not",
    "Pending",
    "Terminating",
    "cannot",
)  # Go's, the system's, states
QUOTED = sorted(
    {
        words
        for line in PAGE.splitlines()
        if line.startswith("| ")
        for words in re.findall(r"`([^`]+)`", line.split(" | ")[0])
        if " " in words and not words.startswith(OF_OTHERS) and not words.startswith("kubectl")
    }
)


@pytest.fixture(scope="module")
def source() -> str:
    """The text of all source files, with adjacent string literals joined."""
    folders = ("gateway", "storage")
    text = "\n".join(each.read_text(encoding="utf-8") for name in folders for each in (ROOT / name).rglob("*.py"))
    return re.sub(r'"\s*\n?\s*f?"', "", text)


@pytest.mark.parametrize("words", QUOTED)
def test_the_message_is_one_of_ours(words: str, source: str) -> None:
    assert words in source


def test_some_are_quoted() -> None:
    assert len(QUOTED) > 12


def _expressions() -> list[str]:
    rules = yaml.safe_load((ROOT / "deploy" / "monitoring" / "alerts.yaml").read_text())
    board = json.loads((ROOT / "deploy" / "monitoring" / "dashboard.json").read_text())
    alerts = [rule["expr"] for group in rules["groups"] for rule in group["rules"]]
    return alerts + [target["expr"] for panel in board["panels"] for target in panel["targets"]]


@pytest.mark.parametrize("expression", _expressions())
def test_alerts_and_panels_ask_for_what_is_told(expression: str) -> None:
    declared = {each.name for each in families()}
    asked = set(re.findall(r"\b(?:apiserver|etcd|process)_\w+", expression))
    assert asked or "up{" in expression
    assert {re.sub(r"_bucket$", "", name) for name in asked} <= declared
