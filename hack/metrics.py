"""Writes docs/metrics.md from the families that are declared: `hack/metrics.py [--check]`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from hack.written import write_or_check  # noqa: E402
from storage.instruments.families import AnyFamily, declared  # noqa: E402

PAGE = ROOT / "docs" / "metrics.md"
ABSENT = ROOT / "tests" / "unit" / "storage" / "instruments" / "absent.metrics"
PACKAGES = ("gateway", "storage")
_HEAD = """\
# Metrics

What `/metrics` tells, under kube-apiserver's names wherever it has one for the same: its dashboards and alert rules
work unchanged. A family is told from the first time on that there is something to count. With `--workers` each answer
is of all processes together, the feeder of `--shared-cache` among them. STABLE, BETA and ALPHA say how much Kubernetes
lets others rely on a name. This page is made by `hack/metrics.py` of what is declared beside each thing that is
measured.

| name | kind | labels | what it tells |
|---|---|---|---|
"""
_ABSENT = """
## Families of kube-apiserver that are not here, or have fewer labels

Each of its other families is in the table above, with the same type and labels: a test compares them with the list of
kube-apiserver 1.36.

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
