"""Writes which metrics of a kube-apiserver the kubernetes-mixin asks for: names alone, of its rules and dashboards.

python -m tests.upstream mixin_metrics DIRECTORY, a checkout of kubernetes-mixin
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

OUT = Path(__file__).parents[2] / "tests" / "integration" / "server" / "kubernetes-mixin.metrics"
FILES = ("alerts/kube_apiserver.libsonnet", "dashboards/apiserver.libsonnet", "rules/kube_apiserver*.libsonnet")
# a name before its selector, which no recording rule has: those have colons
NAME = re.compile(r"(?<![\w:])([a-z][a-z0-9]*(?:_[a-z0-9]+)+)(?=\{)")


def main(words: Sequence[str]) -> None:
    """Writes the file."""
    directory = Path(words[0])
    commit = subprocess.run(
        ["git", "-C", directory, "rev-parse", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    found = set[str]()
    for pattern in FILES:
        for path in directory.glob(pattern):
            found.update(NAME.findall(path.read_text(encoding="utf-8")))
    lines = [
        f"# metrics that kubernetes-mixin {commit[:12]} asks a kube-apiserver for; by tests/upstream/mixin_metrics.py"
    ]
    OUT.write_text("\n".join([*lines, *sorted(found)]) + "\n", encoding="utf-8")
