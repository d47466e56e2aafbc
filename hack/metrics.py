"""Writes docs/reference/metrics.md from the families that are declared: `hack/metrics.py [--check]`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from hack.written import write_or_check  # noqa: E402
from storage.instruments.families import AnyFamily, declared  # noqa: E402

PAGE = ROOT / "docs" / "reference" / "metrics.md"
ABSENT = ROOT / "tests" / "unit" / "storage" / "instruments" / "absent.metrics"
PACKAGES = ("gateway", "storage")
_HEAD = """\
# Metrics

This page lists all metrics at `/metrics`. [Monitoring](../how-to/monitoring.md) describes a first set-up.

If kube-apiserver has a metric for the same thing, the name is the same, so its dashboards and alert rules work
unchanged. A metric appears when there is something to count for the first time. With `--workers`, the values are sums
over all processes. STABLE, BETA and ALPHA are the stability levels of Kubernetes. `hack/metrics.py` makes this page.

| name | kind | labels | meaning |
|---|---|---|---|
"""
_ABSENT = """
## Metrics of kube-apiserver that are missing here, or have fewer labels

All other metrics of kube-apiserver 1.36 are in the table above, with the same type and labels; a test compares them.

| name | why |
|---|---|
"""


def families() -> Iterator[AnyFamily]:
    """All that the server's modules declare."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if "from storage.instruments" in path.read_text(encoding="utf-8"):
                import_module(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
    yield from declared()


def lines() -> Iterator[str]:
    """The table's rows, and those of what is not here."""
    for family in families():
        labels = ", ".join(f"`{label}`" for label in family.label_names)
        text = f"{family.help} {family.level}".strip().replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")
        yield f"| `{family.name}` | {family.kind} | {labels} | {text} |\n"
    yield _ABSENT
    for line in ABSENT.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            pattern, why = line.split(" | ")
            yield f"| `{pattern}` | {why} |\n"


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, lambda: _HEAD + "".join(lines()), __doc__))
