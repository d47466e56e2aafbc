"""Writes docs/reference/flags.md from the table of flags: `hack/flags.py [--check]`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from gateway.settings.flags import GROUPS, shown_default  # noqa: E402
from gateway.settings.foreign_flags import FIXED, REFUSED  # noqa: E402
from hack.written import write_or_check  # noqa: E402
from tests.flag_effects import WITHOUT  # noqa: E402

PAGE = ROOT / "docs" / "reference" / "flags.md"
_HEAD = """\
# Flags

This page lists all flags of `apiserver-gateway serve`. Names and groups are those of kube-apiserver's flags, if it has
such a flag. Each flag is also an environment variable: `--etcd-servers` is `APISERVER_GATEWAY_ETCD_SERVERS`. [The
command line](command-line.md#a-file-of-flags) describes how to give flags in a file. A DURATION is `90s` or `1h30m`. A
test shows the effect of each flag, except for [some](#flags-without-a-test); `tests/flag_effects.py` names the tests.
`hack/flags.py` makes this page.
"""
_UNTESTED = """
## Flags without a test

| flag | why |
|---|---|
"""
_ABSENT = """
## Flags of kube-apiserver that are not here

With such a flag the server does not start, and prints the reason.

| flag | why |
|---|---|
"""


def lines() -> Iterator[str]:
    """The tables, one for each group."""
    for title, flags in GROUPS:
        yield f"\n## {title[0].upper()}{title[1:]}\n\n| flag | meaning | default |\n|---|---|---|\n"
        for flag in flags:
            default = shown_default(flag)
            text = flag.help.replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")
            yield f"| `--{flag.name}` {flag.metavar} | {text} | {f'`{default}`' if default else ''} |\n"
    yield _UNTESTED
    for name, why in sorted(WITHOUT.items()):
        yield f"| `--{name}` | {why} |\n"
    yield _ABSENT
    for name, why in sorted(REFUSED.items()):
        yield f"| `--{name}` | {why} |\n"
    for name, (values, why) in sorted(FIXED.items()):
        yield f"| `--{name}` | only {' or '.join(f'`{value}`' for value in values)}: {why} |\n"


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, lambda: _HEAD + "".join(lines()), __doc__))
