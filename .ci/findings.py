#!/usr/bin/env python3
"""Judges what a test run left beside its failures: exit 1 for a skip or a server's error that nobody has announced.

    APISERVER_GATEWAY_FINDINGS=FILE make test; .ci/findings.py FILE [STEP ...]

It ends with a table of what was not checked: skipped tests by their reason, and the lines that begin with `SKIPPED:` in
the files of STEP, which are what steps of the gate have printed.

A line of .ci/findings-expected.txt is `skip TEST | TEXT # reason` or `log TEST | TEXT # reason`; TEST and TEXT are
regular expressions that are searched for.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

EXPECTED = Path(__file__).with_name("findings-expected.txt")


@dataclass(frozen=True, slots=True)
class Announced:
    """A finding that is expected."""

    kind: str
    test: re.Pattern[str]
    text: re.Pattern[str]

    def covers(self, finding: dict[str, str]) -> bool:
        """Whether a finding is the one."""
        return (
            finding["kind"] == self.kind
            and self.test.search(finding["test"]) is not None
            and self.text.search(finding["text"]) is not None
        )


def announced(file: Path) -> list[Announced]:
    """The file's lines."""
    found = []
    for line in file.read_text(encoding="utf-8").splitlines():
        said, _, reason = line.partition(" # ")
        if said.strip() and not said.startswith("#"):
            kind, _, rest = said.strip().partition(" ")
            test, _, text = rest.partition(" | ")
            assert reason, f"no reason: {line}"
            found.append(Announced(kind, re.compile(test.strip()), re.compile(text.strip())))
    return found


def not_checked(findings: list[dict[str, str]], steps: list[Path]) -> list[tuple[int, str]]:
    """The reasons for which something was left out, with the number of tests (0 for a step), the most tests first."""
    reasons = Counter(each["text"] for each in findings if each["kind"] == "skip")
    rows = [(count, reason) for reason, count in reasons.most_common()]
    said = [step.read_text(encoding="utf-8", errors="replace") for step in steps if step.exists()]
    lines = dict.fromkeys(line for text in said for line in text.splitlines() if line.startswith("SKIPPED:"))
    return rows + [(0, line.removeprefix("SKIPPED:").strip()) for line in lines]


def main() -> int:
    """The exit status."""
    file = Path(sys.argv[1])
    findings = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []
    known = announced(EXPECTED)
    strange = Counter(
        (each["kind"], each["test"], each["text"]) for each in findings if not any(k.covers(each) for k in known)
    )
    for (kind, test, text), times in sorted(strange.items()):
        print(f"UNANNOUNCED {kind}: {test}: {text}" + (f" ({times} times)" if times > 1 else ""))
    if rows := not_checked(findings, [Path(each) for each in sys.argv[2:]]):
        print("\nwhat was not checked, and why\n\n  tests  reason")
        print("\n".join(f"{count or 'a step':>7}  {reason}" for count, reason in rows), end="\n\n")
    else:
        print("everything was checked")
    print(f"findings: {len(findings)} beside the failures, {sum(strange.values())} of them not announced")
    return 1 if strange else 0


if __name__ == "__main__":
    sys.exit(main())
