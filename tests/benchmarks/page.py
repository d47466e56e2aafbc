"""Writes docs/performance/measurements.md and its plots from what was measured, which is kept in results/.

    python -m tests.benchmarks --json build/bench.json && python -m tests.benchmarks.page build/bench.json
    python -m tests.benchmarks.page [--check]

The first command measures, and stores the results of a complete run in results/. The second command writes the page
from the stored results; with --check, it only checks whether the page is up to date. The plots are SVG images with
colours for light and dark pages.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from tests.benchmarks.kept import RESULTS, Row, measured, row_of

ROOT = Path(__file__).resolve().parents[2]
BENCH = RESULTS / "bench.json"
PAGE = ROOT / "docs" / "performance" / "measurements.md"
TABLE = PAGE.with_name("measured.csv")
PLOTS = ROOT / "docs" / "performance" / "plots"

WIDTH, LABELS, NUMBERS, ROW, BAR = 860, 330, 90, 34, 16
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#333}.target{stroke:#c33;stroke-width:2}.ours{fill:#3f51b5}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}.ours{fill:#8c9eff}}"
)
TEXT = """\
# Measurements

`tests/benchmarks/page.py` makes this page. Numbers depend on the machine and its load; ratios within one run differ
less. [Sizing](sizing.md) has the conclusions.

## What the gateway adds

`make bench` on {date}: apiserver-gateway {version} ({commit}), one worker, {cores} cores ({machine}), Python {python},
TLS, a token, {objects} pods in etcd on the same machine, load average {load:.1f}. Numbers are medians.
The other side stands after the slash:

- *raw*: a bare ASGI function that sends the same bytes from the same HTTP server.
- *direct*: the etcd client alone, with the same transaction.
- Other names: the gateway itself, used in another way.

The plot shows the ratios, with their targets in red:

![Ratio to what could be reached](plots/ratios.svg)

case | gateway | other
---|---:|---:
{rates}

Numbers without a unit are requests per second, or events to all watchers. MB/s count the bytes as JSON. *By CPU* in the
plot means per CPU second of the server.

## Starting and stopping

The same run measures a throw-away server with its etcd, as tests use it: medians, with targets in red. *Of a pool* is a
server that is forked from a running process, when a test asks for it or before.

![Seconds to start and stop](plots/starting.svg)
"""
APART = """
## Measured apart

Each of these programs runs alone, with Python {python}; the other server runs on the same machine.
[measured.csv](measured.csv) has all results, their dates and limits. This page has the results beside another
server, and those that do not keep their limits.
"""
ONLY_STORED = re.compile(
    r", for$|, first served$|^GET longest|: (served after, p99|CPU of the server|CPU since the start)$"
    r"|handshakes$|^connections$|^not served$|^served after|Running, p50$|^keys of|^bytes of"
)
"""Cases that the page leaves out."""
ABSOLUTE = re.compile(r" / (raw|direct)$")
"""Cases with a ratio that are also in the table of rates; the plot alone has the others."""
SIMILAR = re.compile(r"as a service account$|^Minors of")
"""Groups that the page leaves out, since their numbers are close to those of another group, or to each other."""


def bars(rows: Sequence[tuple[str, float, float | None]], unit: str) -> str:
    """A plot of horizontal bars: a label, a value, and a mark for its target."""
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


def page(bench: dict[str, Any], rows: Collection[dict[str, Any]]) -> str:
    """The page's text."""
    text = TEXT.format(
        **{name: bench[name] for name in ("version", "commit", "cores", "machine", "python", "objects", "load")},
        date=_day(bench["date"]),
        rates="\n".join(_rates(bench["rates"])),
    )
    return text + "".join(apart(rows))


def _day(text: str) -> str:
    return f"{date.fromisoformat(text):%-d %B %Y}"


def apart(rows: Collection[dict[str, Any]]) -> Iterator[str]:
    """The section of the results that were measured separately, by groups; empty without results."""
    by_group: dict[str, list[dict[str, Any]]] = {}
    for each in rows:
        by_group.setdefault(each["group"], []).append(each)
    newest = max((each["python"] for each in rows), default="")
    if by_group:
        yield APART.format(python=newest)
    for group, kept in by_group.items():
        compared = any(row.beside is not None or not row.holds for row in map(row_of, kept))
        if not compared or SIMILAR.search(group):
            continue
        shown = [each for each in kept if not ONLY_STORED.search(each["case"])]
        yield f"\n### {group}\n\n{''.join(_apart_table(shown))}"
        conditions = dict.fromkeys(each["conditions"] for each in kept)
        others = dict.fromkeys(f"Python {each['python']}" for each in kept if each["python"] != newest)
        yield f"\n{'; '.join([*conditions, *others])}\n"


def _apart_table(kept: list[dict[str, Any]]) -> Iterator[str]:
    """A table without the columns that no row fills."""
    rows = [row_of(each) for each in kept]
    others = sorted({row.other for row in rows if row.beside is not None})
    columns = {
        "case": [row.case for row in rows],
        "gateway": [_amount(row.ours, row.unit) for row in rows],
        " or ".join(others): ["" if row.beside is None else _amount(row.beside, row.unit) for row in rows],
        "limit": ["" if row.holds else _limit(row) for row in rows],
    }
    filled = {name: cells for name, cells in columns.items() if any(cells)}
    yield f"{' | '.join(filled)}\n---|{'|'.join(['---:'] * (len(filled) - 1))}\n"
    yield from (f"{' | '.join(cells)}\n".replace(" | \n", " |\n") for cells in zip(*filled.values(), strict=True))


def table(rows: Iterable[dict[str, Any]]) -> str:
    """All results that were measured separately, as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("group", "case", "gateway", "other", "other server", "limit", "date", "Python", "conditions"))
    for each in rows:
        row = row_of(each)
        other = "" if row.beside is None else _amount(row.beside, row.unit)
        cells = (row.group, row.case, _amount(row.ours, row.unit), other, row.other, _limit(row).replace("*", ""))
        writer.writerow((*cells, each["date"], each["python"], each["conditions"]))
    return text.getvalue()


def _limit(row: Row) -> str:
    """The limits of a row's number or ratio, and whether they are broken."""
    limits = [("≤", row.at_most), ("≥", row.at_least)]
    words = " ".join(f"{sign}{_number(limit)}" for sign, limit in limits if limit is not None)
    if not words:
        return ""
    return f"{'ratio ' if row.limits_ratio else ''}{words}{'' if row.holds else ': **not kept**'}"


def _amount(value: float, unit: str) -> str:
    return f"{_number(value)} {unit}".rstrip()


def _number(value: float) -> str:
    """A number with at least three digits, and no more decimals than needed for that."""
    size = abs(value)
    return f"{value:,.0f}" if size >= 100 or value == int(value) else f"{value:.1f}" if size >= 10 else f"{value:.2f}"


def _rates(rates: list[dict[str, Any]]) -> Iterator[str]:
    for each in rates:
        if each["ratio"] is not None and not ABSOLUTE.search(each["case"]):
            continue
        scale, unit = (1e6, " MB/s") if each["case"].endswith("bytes") else (1.0, "")
        ours, other = (
            "" if number is None else f"{number / scale:,.0f}{unit}" for number in (each["ours"], each["other"])
        )
        yield f"{each['case']} | {ours} | {other}".rstrip()


def files() -> Iterator[tuple[Path, str]]:
    """The page and its plots, with their texts."""
    bench = json.loads(BENCH.read_text(encoding="utf-8"))
    ratios = [(each["case"], each["ratio"], each["target"]) for each in bench["rates"] if each["ratio"] is not None]
    times = [(each["case"], each["seconds"], each["target"]) for each in bench["times"]]
    yield PLOTS / "ratios.svg", bars(ratios, "")
    yield PLOTS / "starting.svg", bars(times, " s")
    yield PAGE, page(bench, measured().values())
    yield TABLE, table(measured().values())


def main() -> int:
    """Stores a run, writes the page and its plots. Returns 1 if --check finds that one is out of date."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, nargs="?", help="what a run of make bench has written")
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args()
    if options.results:
        found = json.loads(options.results.read_text(encoding="utf-8"))
        if found["only"]:
            print("only a part was measured: docs/performance/measurements.md stays as it is")
            return 0
        BENCH.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    stale = [(path, text) for path, text in files() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    for path, text in stale:
        if options.check:
            print(f"{path} is not up to date: run python -m tests.benchmarks.page", file=sys.stderr)
        else:
            path.write_text(text, encoding="utf-8")
    return 1 if stale and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
