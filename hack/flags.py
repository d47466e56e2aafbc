"""Writes docs/reference/flags.md from the table of flags: `hack/flags.py [--check]`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
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

This page lists all flags of `apiserver-gateway serve`. A flag that kube-apiserver has, too, has its name and group.
Each flag is also an environment variable: `--etcd-servers` is `APISERVER_GATEWAY_ETCD_SERVERS`. [The command
line](command-line.md#a-file-of-flags) describes a file of flags. A DURATION is `90s` or `1h30m`. Tests show the effect
of each flag, except for [some](#flags-without-a-test). `hack/flags.py` makes this page.
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
_FIXED = """
Of these flags, the server accepts only the value that is shown:

| flag | why |
|---|---|
"""


def lines() -> Iterator[str]:
    """The tables, one for each group."""
    for title, flags in GROUPS:
        yield f"\n## {title[0].upper()}{title[1:]}\n\n| flag | meaning (default) |\n|---|---|\n"
        for flag in flags:
            default = shown_default(flag)
            text = flag.help.replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")
            yield f"| `--{flag.name}` {flag.metavar} | {text}{f' (`{default}`)' if default else ''} |\n"
    yield _UNTESTED
    yield from _by_reason((f"`--{name}`", why) for name, why in sorted(WITHOUT.items()))
    yield _ABSENT
    yield from _by_reason((f"`--{name}`", why) for name, why in sorted(REFUSED.items()))
    fixed = ((f"`--{name}={'` or `'.join(values)}`", why) for name, (values, why) in sorted(FIXED.items()))
    yield _FIXED
    yield from _by_reason(fixed)


def _by_reason(flags: Iterable[tuple[str, str]]) -> Iterator[str]:
    """The rows of a table, one for each reason."""
    names: dict[str, list[str]] = {}
    for name, why in flags:
        names.setdefault(why, []).append(name)
    yield from (f"| {', '.join(of_it)} | {why} |\n" for why, of_it in names.items())


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, lambda: _HEAD + "".join(lines()), __doc__))
