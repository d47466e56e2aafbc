"""Writes docs/reference/compatibility.md and compatibility.csv from a comparison with a recorded kube-apiserver.

    python -m tests.upstream conformance DIR --report report.json
    python -m tests.upstream compatibility DIR report.json [--check]

DIR holds the scenarios. Page and table are of one run. With --check they are not written: exit 1 if they say something
else.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from gateway.release.minors import DEFAULT, GIT_VERSIONS
from tests.upstream.conformance import Exemption, expected_of, read_expected, step_of

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "compatibility.md"
TABLE = PAGE.with_suffix(".csv")
TITLES = {
    "aggregation": "API servers behind this one",
    "access": "Authentication, authorization, impersonation",
    "apply": "Server-side apply and managed fields",
    "customresources": "Custom resources",
    "deletion": "Deletion, finalizers, namespaces",
    "discovery": "Discovery and OpenAPI",
    "fields": "Field validation and defaults",
    "lists": "Get and list",
    "objects": "Built-in kinds",
    "patches": "Patches",
    "plugins": "Admission plug-ins",
    "podsecurity": "Pod security admission",
    "policies": "Admission policies",
    "proxies": "Logs, exec and proxies",
    "quotas": "Resource quotas and limit ranges",
    "representations": "Representations",
    "watches": "Watches",
    "webhooks": "Admission webhooks",
}


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario: its subject, how many of its steps were compared, and the labels of those that differ."""

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
        labels = tuple(dict.fromkeys(step_of(each) for each in found))
        yield Scenario(name, content["about"], content.get("section", ""), steps, labels)


def page(found: list[Scenario], expected: dict[str, Exemption]) -> Iterator[str]:
    """The page's lines."""
    by_topic: dict[str, list[Scenario]] = defaultdict(list)
    for each in found:
        by_topic[each.name.partition("/")[0]].append(each)
    yield from _head(found)
    yield "| topic | scenarios | as recorded | steps | as recorded |"
    yield "|---|---:|---:|---:|---:|"
    for topic, of_it in by_topic.items():
        yield f"| {TITLES[topic]} (`{topic}/`) | {_numbers(of_it)} |"
    yield f"| **all** | {_numbers(found)} |"
    yield from _differences([each for each in found if each.differing], expected)


def table(found: list[Scenario]) -> str:
    """Each scenario, as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("scenario", "steps", "steps that differ", "what is compared"))
    writer.writerows((each.name, each.steps, len(each.differing), " ".join(each.about.split())) for each in found)
    return text.getvalue()


def _head(found: list[Scenario]) -> Iterator[str]:
    version = GIT_VERSIONS[DEFAULT].removeprefix("v")
    same = sum(not each.differing for each in found)
    yield "# Compatibility\n"
    yield (
        f"This page compares the answers of this server with those of kube-apiserver {version}.\n"
        f"{same} of {len(found)} scenarios are answered as recorded. [compatibility.csv](compatibility.csv) lists the\n"
        "scenarios: what each one compares, and how many of its steps differ.\n"
    )
    yield (
        "A scenario is a series of requests. Their answers were recorded from a kube-apiserver. The comparison covers\n"
        "the status, the headers, the whole body with its wording, and the events of watches. It leaves out the\n"
        "descriptions of table columns. Values that differ in each run (uids, times, resource versions, tokens) are\n"
        "compared by identity: they have to be equal where the recorded values are equal. If a step differs, later\n"
        "steps that use its result often differ, too.\n"
    )
    yield "`tests/upstream/compatibility.py` writes this page, from a run of `tests/upstream/conformance.py`.\n"


def _differences(differing: list[Scenario], expected: dict[str, Exemption]) -> Iterator[str]:
    yield "\n## What differs, and why { #differences }\n"
    if not differing:
        yield "Nothing."
        return
    yield "| scenario | steps that differ | why |"
    yield "|---|---|---|"
    for each in differing:
        shown = ", ".join(each.differing[:6]) + (", …" if len(each.differing) > 6 else "")
        reason = expected[each.name].reason if each.name in expected else "a fault"
        yield f"| {each.name} | {_cell(shown)} | {_cell(reason)} |"


def _numbers(found: list[Scenario]) -> str:
    steps, wrong = sum(each.steps for each in found), sum(len(each.differing) for each in found)
    return f"{len(found)} | {sum(not each.differing for each in found)} | {steps} | {steps - wrong}"


def _cell(text: str) -> str:
    for character in "\\|*_<`[":
        text = text.replace(character, "&lt;" if character == "<" else f"\\{character}")
    return " ".join(text.split())


def main(words: Sequence[str]) -> int:
    """Writes the page, or compares it. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("report", type=Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(words)
    found = list(scenarios(options.directory, json.loads(options.report.read_text())))
    files = {PAGE: "\n".join(page(found, read_expected(expected_of(DEFAULT)))) + "\n", TABLE: table(found)}
    there = len(list((options.directory / "scenarios").rglob("*.yaml")))
    if options.check and len(found) < there:
        print(f"{there - len(found)} scenarios were left out of this run: the page is not compared with it")
        return 0
    stale = [path for path, text in files.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        if options.check:
            print(
                f"{path.relative_to(ROOT)} does not say what this run found: "
                "write it with tests/upstream/compatibility.py"
            )
        else:
            path.write_text(files[path], encoding="utf-8")
    return 1 if stale and options.check else 0
