"""Writes docs/metrics.md from the families that are declared: `hack/metrics.py [--check]`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from storage.instruments.families import AnyFamily, declared  # noqa: E402

PAGE = ROOT / "docs" / "metrics.md"
PACKAGES = ("gateway", "storage")
_HEAD = """\
# Metrics

What `/metrics` tells, under kube-apiserver's names wherever it has one for the same: its dashboards and alert rules
work unchanged. A family is told from the first time on that there is something to count. With `--workers` each answer
is of all processes together. STABLE, BETA and ALPHA say how much Kubernetes lets others rely on a name. This page is
made by `hack/metrics.py` of what is declared beside each thing that is measured.

| name | kind | labels | what it tells |
|---|---|---|---|
"""


def families() -> Iterator[AnyFamily]:
    """All that the server's modules declare."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if "from storage.instruments" in path.read_text(encoding="utf-8"):
                import_module(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
    yield from declared()


def lines() -> Iterator[str]:
    """The table's rows."""
    for family in families():
        labels = ", ".join(f"`{label}`" for label in family.label_names)
        text = f"{family.help} {family.level}".strip().replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")
        yield f"| `{family.name}` | {family.kind} | {labels} | {text} |\n"


def main() -> int:
    """Writes the page, or with --check says whether it is up to date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if the page is out of date")
    check = parser.parse_args().check
    text = _HEAD + "".join(lines())
    if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == text:
        return 0
    if check:
        print(f"{PAGE} is not up to date: run hack/metrics.py", file=sys.stderr)
        return 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
