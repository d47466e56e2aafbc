"""Writes which flags a kube-apiserver has, of what types and with which defaults, as its --help tells.

python -m tests.upstream kube_apiserver_flags /path/to/kube-apiserver
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

OUT = Path(__file__).parents[2] / "tests" / "unit" / "settings" / "kube-apiserver.flags"
FLAG = re.compile(r"\s+(?:-(\w), )?--([a-z0-9-]+)(\[=true\])?(?: ([^\s=]\S*))?(?:\s{2,}(.*)|$)")
DEFAULT = re.compile(r'\(default (?:"([^"]*)"|\[([^]]*)\]|([^)\s]*))\)$')


def main(words: Sequence[str]) -> None:
    program = words[0]
    told = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    lines = [f"# {version}: name, type, default; made by tests/upstream/kube_apiserver_flags.py"]
    for match in filter(None, map(FLAG.match, told.splitlines())):
        default = DEFAULT.search(match[5] or "")
        value = next((group for group in default.groups() if group is not None), "") if default else ""
        lines.append(f"{match[2]} {match[4] or 'bool'} {value}".rstrip())
    OUT.write_text("\n".join(lines) + "\n")
