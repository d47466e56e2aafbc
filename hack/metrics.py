"""Writes docs/reference/metrics.md from the declared families, and metrics-missing.csv: `hack/metrics.py [--check]`."""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from gateway.release.metrics import forms  # noqa: E402
from gateway.release.minors import GIT_VERSIONS  # noqa: E402
from hack.written import write_or_check  # noqa: E402
from storage.instruments.families import AnyFamily, declared  # noqa: E402
from storage.instruments.snapshot import Form  # noqa: E402

PAGE, MISSING = (ROOT / "docs" / "reference" / name for name in ("metrics.md", "metrics-missing.csv"))
INSTRUMENTS = ROOT / "tests" / "unit" / "storage" / "instruments"
ABSENT = INSTRUMENTS / "absent.metrics"
UPSTREAM = [INSTRUMENTS / f"{name}.metrics" for name in ("kube-apiserver", "kube-apiserver-1.37")]
PACKAGES = ("gateway", "storage")
_HEAD = """\
# Metrics

These are all metrics at `/metrics`, with their labels in braces. [Monitoring](../how-to/monitoring.md) describes a
first set-up. A metric appears when its first event is counted. With `--workers`, values are sums over all processes.
`hack/metrics.py` makes this page.
"""
_OWN = """
## Metrics of this server

name | meaning
---|---
"""
_SHARED = """
## Metrics of kube-apiserver

Dashboards and alert rules for kube-apiserver work unchanged. The [Kubernetes
reference](https://kubernetes.io/docs/reference/instrumentation/metrics/) and the HELP lines of `/metrics` describe
these metrics.
"""
_ABSENT = """
## Metrics of kube-apiserver that are missing here, or have fewer labels

[metrics-missing.csv](metrics-missing.csv) lists them with the reasons.
"""
_BY_LABELS = re.compile(r", by [^.,]*\.$")
"""The end of a help text that repeats labels."""
_KINDS = {"counter": "Counters", "gauge": "Gauges", "histogram": "Histograms"}


def families() -> Iterator[AnyFamily]:
    """All that the server's modules declare."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if "from storage.instruments" in path.read_text(encoding="utf-8"):
                import_module(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
    yield from declared()


def _by_minor(family: AnyFamily) -> str:
    """In which minors a server shows a family otherwise than it is declared; "" if in none."""
    shown = {minor: _otherwise(forms(minor).get(family.name, Form())) for minor in GIT_VERSIONS}
    said, minors = list[str](), list(shown)
    for minor, after in zip(minors, [*minors[1:], ""], strict=True):
        before = minors[minors.index(minor) - 1] if minor != minors[0] else ""
        if shown[minor] and not (before and shown[before] == shown[minor]):
            since = f"from {minor} on" if before else ""
            said.append(f"{shown[minor]} {since}".strip())
        if said and after and shown[minor] and shown[after] != shown[minor] and not said[-1].endswith("on"):
            said[-1] += f" before {after}"
    return f" ({'; '.join(said)})" if said else ""


def _otherwise(form: Form) -> str:
    """How a form differs from the declaration."""
    if form.hidden:
        return "not shown"
    labels = ", ".join(form.labels or ())
    return f"with {labels} alone" if labels else ""


def lines() -> Iterator[str]:
    """A table of this server's own metrics, and for each kind of metric the names that kube-apiserver has, too."""
    upstream = {line.split()[0] for path in UPSTREAM for line in path.read_text(encoding="utf-8").splitlines()}
    of_kinds: dict[str, list[AnyFamily]] = {kind: [] for kind in _KINDS}
    yield _OWN
    for family in families():
        if family.name in upstream:
            of_kinds[family.kind].append(family)
        else:
            yield f"`{_name(family)}` | {_meaning(family)}\n"
    yield _SHARED
    for kind, found in of_kinds.items():
        yield f"\n### {_KINDS[kind]}\n\n```text\n"
        yield from (f"{_name(family)}{_by_minor(family)}\n" for family in found)
        yield "```\n"
    yield _ABSENT


def missing() -> str:
    """The table of kube-apiserver's metrics that are not here, as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("metric", "why"))
    for line in ABSENT.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            writer.writerow(line.split(" | "))
    return text.getvalue()


def _name(family: AnyFamily) -> str:
    labels = f"{{{','.join(family.label_names)}}}" if family.label_names else ""
    return f"{family.name}{labels}"


def _meaning(family: AnyFamily) -> str:
    text = _BY_LABELS.sub(".", family.help) if family.label_names else family.help
    return text.replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")


if __name__ == "__main__":
    sys.exit(
        write_or_check(MISSING, missing, __doc__) or write_or_check(PAGE, lambda: _HEAD + "".join(lines()), __doc__)
    )
