"""Writes docs/performance.md and its plots from what a run has measured.

    python -m tests.benchmarks --json build/bench.json && python -m tests.benchmarks.page build/bench.json

The plots are SVG that follows the reader's light or dark colours.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import tomllib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "performance.md"
PLOTS = ROOT / "docs" / "plots"

WIDTH, LABELS, NUMBERS, ROW, BAR = 860, 330, 90, 34, 16
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#333}.target{stroke:#c33;stroke-width:2}.ours{fill:#3f51b5}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}.ours{fill:#8c9eff}}"
)
TEXT = """\
# Performance

Measured by `make bench` on {date}: apiserver-gateway {version} ({commit}), one worker, {cores} cores ({machine}),
Python {python}, TLS, a token, {objects} pods in etcd on the same machine, whose load was {load:.1f}. Numbers of other
machines differ, and fall with the load; ratios within one run differ less. This page is made by
`tests/benchmarks/page.py`.

## What the gateway adds

Beside each case is what could be reached without a gateway: for reads and watches a bare ASGI function that sends
the same bytes under the same server (*raw*), for writes the etcd client alone, with the same transaction (*direct*). A
ratio of 1 would be a gateway that costs nothing. Both are measured in turn, round by round: each column shows the
median of its rounds, so the ratio, a median too, is not always that of the two numbers beside it. The last column is
what a change should not fall below; it is looked at by whoever changes something, and no gate enforces it.

![Ratio to what could be reached](plots/ratios.svg)

| case | gateway | beside it | ratio | at least |
|---|---:|---:|---:|---:|
{rates}

Numbers are requests a second, for watches events a second to all watchers, for representations of lists MB/s of JSON.

## Starting and stopping

A throw-away server with its etcd, as tests have it; medians in seconds. The line is what it should take at most.

![Seconds to start and stop](plots/starting.svg)

| what | seconds | at most |
|---|---:|---:|
{times}
"""


def bars(rows: Sequence[tuple[str, float, float | None]], unit: str) -> str:
    """A plot of horizontal bars: a label, a value, and where its target is marked."""
    most = max(max(value, target or 0) for _, value, target in rows) * 1.05
    scale = (WIDTH - LABELS - NUMBERS) / most
    height = ROW * len(rows) + 10
    made = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img"><style>{STYLE}</style>']
    for index, (label, value, target) in enumerate(rows):
        y = 10 + index * ROW
        made.append(f'<text x="{LABELS - 10}" y="{y + 14}" text-anchor="end">{escape(label)}</text>')
        made.append(
            f'<rect class="ours" x="{LABELS}" y="{y + 3}" width="{value * scale:.1f}" height="{BAR + 4}" rx="2"/>'
        )
        if target:
            x = LABELS + target * scale
            made.append(f'<line class="target" x1="{x:.1f}" x2="{x:.1f}" y1="{y - 1}" y2="{y + 23}"/>')
        end = LABELS + max(value, target or 0) * scale
        made.append(f'<text x="{end + 8:.1f}" y="{y + 15}">{value:.2f}{unit}</text>')
    return "\n".join([*made, "</svg>", ""])


def page(measured: dict[str, Any]) -> str:
    """The page's text."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    asked = ["git", "log", "-1", "--format=%h"]
    commit = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    return TEXT.format(
        date=f"{datetime.now(UTC):%-d %B %Y}",
        version=version,
        commit=commit,
        cores=os.cpu_count(),
        machine=platform.machine(),
        python=platform.python_version(),
        objects=measured["objects"],
        load=measured.get("load") or 0.0,
        rates="\n".join(_rates(measured["rates"])),
        times="\n".join(
            f"| {each['case']} | {each['seconds']:.3f} | {each['target'] or ''} |" for each in measured["times"]
        ),
    )


def _rates(rates: list[dict[str, Any]]) -> Iterator[str]:
    for each in rates:
        scale, unit = (1e6, " MB/s") if each["case"].endswith("bytes") else (1.0, "")
        ours, other = (
            "" if number is None else f"{number / scale:,.0f}{unit}" for number in (each["ours"], each["other"])
        )
        ratio = "" if each["ratio"] is None else f"{each['ratio']:.2f}"
        yield f"| {each['case']} | {ours} | {other} | {ratio} | {each['target']:g} |"


def main() -> None:
    """Writes the page and its plots."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    measured = json.loads(parser.parse_args().results.read_text())
    PLOTS.mkdir(exist_ok=True)
    ratios = [(each["case"], each["ratio"], each["target"]) for each in measured["rates"] if each["ratio"] is not None]
    (PLOTS / "ratios.svg").write_text(bars(ratios, ""), encoding="utf-8")
    times = [(each["case"], each["seconds"], each["target"]) for each in measured["times"]]
    (PLOTS / "starting.svg").write_text(bars(times, " s"), encoding="utf-8")
    PAGE.write_text(page(measured), encoding="utf-8")


if __name__ == "__main__":
    main()
