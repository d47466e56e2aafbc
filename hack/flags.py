"""Writes docs/reference/flags.md from the table of flags: `hack/flags.py [--check]`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from gateway.settings.flags import GROUPS, Flag, shown_default  # noqa: E402
from gateway.settings.foreign_flags import FIXED, REFUSED  # noqa: E402
from hack.written import write_or_check  # noqa: E402

PAGE = ROOT / "docs" / "reference" / "flags.md"
_NAMES = {flag.name for _, flags in GROUPS for flag in flags}
_HEAD = """\
# Flags

These are all flags of `apiserver-gateway serve`. Flags of kube-apiserver have its names and groups. Each flag is also
an environment variable: `--etcd-servers` is `APISERVER_GATEWAY_ETCD_SERVERS`. [The command
line](command-line.md#a-file-of-flags) describes a file of flags. A duration is `90s` or `1h30m`. `hack/flags.py` makes
this page.
"""
_ABSENT = """
## Flags of kube-apiserver that are not here

With such a flag, the server prints the reason and does not start:

```text
"""
_FIXED = """```

Of these flags, the server accepts this value only:

```text
"""


def lines() -> Iterator[str]:
    """The tables, one for each group."""
    for title, flags in GROUPS:
        yield f"\n## {title[0].upper()}{title[1:]}\n\nflag | meaning (default)\n---|---\n"
        for flag in flags:
            yield _row(flag)
    yield _ABSENT
    yield from (f"--{name}\n" for name in sorted(REFUSED))
    yield _FIXED
    yield from (f"--{name}={' or '.join(values)}\n" for name, (values, _) in sorted(FIXED.items()))
    yield "```\n"


def _row(flag: Flag) -> str:
    """The row of a flag. The default also shows the form of the value; without one, the placeholder does."""
    default = shown_default(flag)
    text = _meaning(flag).replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")
    return f"`--{flag.name}{'' if default else f' {flag.metavar}'}` | {text}{f' (`{default}`)' if default else ''}\n"


def _meaning(flag: Flag) -> str:
    """The help text; for a flag of the audit webhook that the audit log has, too, that flag's name."""
    same = flag.name.replace("audit-webhook", "audit-log")
    return f"as `--{same}`" if same in _NAMES and same != flag.name else flag.help


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, lambda: _HEAD + "".join(lines()), __doc__))
