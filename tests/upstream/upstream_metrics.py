"""Writes which families of metrics a kube-apiserver has: names, types and labels.

python -m tests.upstream upstream_metrics SCRAPE [DOCUMENTATION [FILE]]

SCRAPE is what a kube-apiserver answers to GET /metrics once it has had requests of all sorts. DOCUMENTATION is
Kubernetes' list of metrics (test/instrumentation/documentation/documentation-list.yaml), which names the labels of
families, and those families that have counted nothing yet. FILE is the list to write, beside that of 1.36.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

OUT = Path(__file__).parents[2] / "tests" / "unit" / "storage" / "instruments" / "kube-apiserver.metrics"
ENDPOINT = {"component": "kube-apiserver", "endpoint": "/metrics"}
TYPE = re.compile(r"^# TYPE (\S+) (\S+)", re.MULTILINE)
BUILD = re.compile(r'kubernetes_build_info\{.*git_version="([^"]*)"')


def documented(path: Path) -> dict[str, tuple[str, list[str]]]:
    """Types and labels of the documented families, by name."""
    import yaml

    found: dict[str, tuple[str, list[str]]] = {}
    each: dict[str, Any]
    for each in yaml.safe_load(path.read_text(encoding="utf-8")):
        if ENDPOINT in (each.get("componentEndpoints") or ()):
            name = "_".join(filter(None, (each.get("namespace"), each.get("subsystem"), each["name"])))
            found[name] = (
                each["type"].lower(),
                sorted({*(each.get("labels") or ()), *(each.get("constLabels") or ())}),
            )
    return found


def main(words: Sequence[str]) -> None:
    """Writes the file."""
    scrape = Path(words[0]).read_text(encoding="utf-8")
    known = documented(Path(words[1])) if len(words) > 1 else {}
    types = dict(TYPE.findall(scrape))
    build = BUILD.search(scrape)
    lines = [
        f"# kube-apiserver {build[1] if build else ''}: name, type, labels; made by tests/upstream/upstream_metrics.py"
    ]
    for name in sorted(types.keys() | known.keys()):
        kind, labels = known.get(name, ("", []))
        kind = types.get(name, kind)
        lines.append(" ".join(filter(None, (name, kind, ",".join(labels)))))
    out = OUT.with_name(words[2]) if len(words) > 2 else OUT
    out.write_text("\n".join(lines) + "\n", encoding="utf-8")
