"""Writes docs/compatibility.md from a comparison with a recorded kube-apiserver.

    hack/conformance.py DIR --report report.json; hack/compatibility.py DIR report.json [MORE.json]

DIR holds the scenarios. Some of them watch controllers at work and depend on how fast a busy machine is: a scenario is
as recorded when it is so in one of the reports.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from conformance import EXPECTED, read_expected

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "compatibility.md"
TITLES = {
    "access": "Authentication, authorization, impersonation",
    "apply": "Server-side apply and managed fields",
    "customresources": "Custom resources",
    "deletion": "Deletion, finalizers, namespaces",
    "discovery": "Discovery and OpenAPI",
    "fields": "Field validation and defaults",
    "lists": "Get and list",
    "objects": "Built-in kinds",
    "patches": "Patches",
    "representations": "Representations",
    "watches": "Watches",
}


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario: what it is about, how many of its steps were compared, and the labels of those that differ."""

    name: str
    about: str
    section: str
    steps: int
    differing: tuple[str, ...]


def scenarios(directory: Path, report: dict[str, list[dict[str, Any]]]) -> Iterator[Scenario]:
    """The scenarios of a report, by name."""
    for name, found in sorted(report.items()):
        text = (directory / "scenarios" / f"{name}.yaml").read_text(encoding="utf-8")
        content = yaml.safe_load(text)
        steps = sum(1 for step in content["steps"] if "do" in step or "collect" in step)
        labels = tuple(dict.fromkeys(each["path"].partition("]")[0].lstrip("[") for each in found))
        yield Scenario(name, content["about"], content.get("section", ""), steps, labels)


def page(found: list[Scenario], reasons: dict[str, str]) -> Iterator[str]:
    """The page's lines."""
    by_topic: dict[str, list[Scenario]] = defaultdict(list)
    for each in found:
        by_topic[each.name.partition("/")[0]].append(each)
    yield from _head(found)
    yield "| topic | scenarios | as recorded | steps | as recorded |"
    yield "|---|---:|---:|---:|---:|"
    for topic, of_it in by_topic.items():
        yield f"| [{TITLES[topic]}](#{topic}) | {_numbers(of_it)} |"
    yield f"| **all** | {_numbers(found)} |"
    yield from _differences([each for each in found if each.differing], reasons)
    for topic, of_it in by_topic.items():
        yield f"\n## {TITLES[topic]} {{ #{topic} }}\n"
        yield "| scenario | what is compared | steps | |"
        yield "|---|---|---:|---|"
        for each in of_it:
            verdict = f"{len(each.differing)} of them differ" if each.differing else "as recorded"
            yield f"| {each.name.partition('/')[2]} | {_cell(each.about)} | {each.steps} | {verdict} |"


def _head(found: list[Scenario]) -> Iterator[str]:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    commit = subprocess.run(
        ["git", "log", "-1", "--format=%h"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    same = sum(not each.differing for each in found)
    yield "# Compatibility\n"
    yield (
        f"apiserver-gateway {version} ({commit}) beside kube-apiserver 1.36.3, on {datetime.now(UTC):%-d %B %Y}: "
        f"{same} of {len(found)}\nscenarios are answered as recorded. Made by `hack/compatibility.py` from a run of "
        "`hack/conformance.py`.\n"
    )
    yield (
        "A scenario is a series of requests whose answers were recorded from a kube-apiserver: status, headers and\n"
        "the whole body, events of watches included. What differs from run to run (uids, times, resource versions,\n"
        "tokens) is compared by identity. Where a step differs, those that build on it often do, too.\n"
    )


def _differences(differing: list[Scenario], reasons: dict[str, str]) -> Iterator[str]:
    yield "\n## What differs, and why { #differences }\n"
    if not differing:
        yield "Nothing."
        return
    yield "| scenario | steps that differ | why |"
    yield "|---|---|---|"
    for each in differing:
        shown = ", ".join(each.differing[:6]) + (", …" if len(each.differing) > 6 else "")
        yield f"| {each.name} | {_cell(shown)} | {_cell(reasons.get(each.name, 'a fault'))} |"


def _numbers(found: list[Scenario]) -> str:
    steps, wrong = sum(each.steps for each in found), sum(len(each.differing) for each in found)
    return f"{len(found)} | {sum(not each.differing for each in found)} | {steps} | {steps - wrong}"


def _cell(text: str) -> str:
    for character in "\\|*_<`[":
        text = text.replace(character, "&lt;" if character == "<" else f"\\{character}")
    return " ".join(text.split())


def main() -> int:
    """Writes the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("reports", type=Path, nargs="+")
    options = parser.parse_args()
    report: dict[str, list[dict[str, Any]]] = {}
    for each in options.reports:
        report |= {name: found for name, found in json.loads(each.read_text()).items() if report.get(name) != []}
    found = list(scenarios(options.directory, report))
    PAGE.write_text("\n".join(page(found, read_expected(EXPECTED))) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
