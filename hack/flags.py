"""Writes docs/flags.md from the table of flags: `hack/flags.py [--check]`."""

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

PAGE = ROOT / "docs" / "flags.md"
_HEAD = """\
# Flags

Those of `apiserver-gateway serve`, named and grouped as kube-apiserver's where it has them. Each is an environment
variable too: `--etcd-servers` is `APISERVER_GATEWAY_ETCD_SERVERS`; [The command line](command-line.md) says how they
can be given in a file. A DURATION is `90s` or `1h30m`. The effect of each is shown by a test, which
`tests/flag_effects.py` names, except for [some](#flags-without-a-test). This page is made by `hack/flags.py`.
"""
_UNTESTED = """
## Flags without a test

| flag | why |
|---|---|
"""
_ABSENT = """
## Flags of kube-apiserver that are not here

A flag without effect would promise what does not happen: it ends the start, with the reason.

| flag | why |
|---|---|
"""


def lines() -> Iterator[str]:
    """The tables, one for each group."""
    for title, flags in GROUPS:
        yield f"\n## {title[0].upper()}{title[1:]}\n\n| flag | what it says | default |\n|---|---|---|\n"
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
