"""Writes docs/flags.md from the table of flags: `hack/flags.py [--check]`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from gateway.settings.flags import GROUPS, shown_default  # noqa: E402

PAGE = ROOT / "docs" / "flags.md"
_HEAD = """\
# Flags

Those of `apiserver-gateway serve`, named and grouped as kube-apiserver's where it has them. Each is an environment
variable too: `--etcd-servers` is `APISERVER_GATEWAY_ETCD_SERVERS`; [The command line](command-line.md) says how they
can be given in a file. A DURATION is `90s` or `1h30m`. This page is made by `hack/flags.py`.
"""


def lines() -> Iterator[str]:
    """The tables, one for each group."""
    for title, flags in GROUPS:
        yield f"\n## {title[0].upper()}{title[1:]}\n\n| flag | what it says | default |\n|---|---|---|\n"
        for flag in flags:
            default = shown_default(flag)
            text = flag.help.replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")
            yield f"| `--{flag.name}` {flag.metavar} | {text} | {f'`{default}`' if default else ''} |\n"


def main() -> int:
    """Writes the page, or with --check says whether it is up to date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if the page is out of date")
    check = parser.parse_args().check
    text = _HEAD + "".join(lines())
    if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == text:
        return 0
    if check:
        print(f"{PAGE} is not up to date: run hack/flags.py", file=sys.stderr)
        return 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
