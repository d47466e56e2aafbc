"""`apiserver-gateway doctor`."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict
from textwrap import wrap
from typing import TYPE_CHECKING

import click

from gateway.commands.command_failed import CommandFailed
from gateway.commands.help import ServeFlags
from gateway.settings.command_line import read_flags

if TYPE_CHECKING:
    from gateway.doctor.finding import Finding

OUTPUTS = ("text", "json")
_INDENT = "     "  # as wide as the column of levels
_COLOURS = {"OK": "green", "WARN": "yellow", "FAIL": "red"}


@click.command(cls=ServeFlags, short_help="check what a server needs, and suggest remedies")
@click.option("-o", "--output", type=click.Choice(OUTPUTS), help="output format: text or json (default text)")
def command(words: tuple[str, ...]) -> int:
    """Checks what a server with the same flags needs: etcd, certificates, the clock, the port and disks.

    Each line begins with OK, WARN or FAIL, and ends with a remedy if there is one. The exit status is 1 if a check
    fails.
    """
    from gateway.doctor.examination import examine
    from gateway.settings.config import InvalidSettings

    output, rest = _own(words)
    try:
        given = read_flags(rest)
    except InvalidSettings as error:
        raise CommandFailed(f"{error}; see apiserver-gateway doctor --help") from None
    findings = examine(given, os.environ)
    if output == "json":
        click.echo(json.dumps([asdict(finding) for finding in findings], indent=2))
    elif sys.stdout.isatty():
        width = shutil.get_terminal_size().columns
        for finding in findings:
            click.echo("\n".join(lines(finding, width)))
    else:
        for finding in findings:
            remedy = f": {finding.remedy}" if finding.remedy else ""
            click.echo(f"{finding.level:4} {finding.check}: {finding.said}{remedy}")
    return int(any(finding.level == "FAIL" for finding in findings))


def _own(words: Sequence[str]) -> tuple[str, list[str]]:
    """The value of --output, and the other words, which are flags of `serve`. Raises CommandFailed."""
    output, rest = "text", []
    following = iter(words)
    for word in following:
        name, equals, value = word.partition("=")
        if name in ("-o", "--output"):
            output = value if equals else next(following, "")
            if output not in OUTPUTS:
                raise CommandFailed(f"--output={output}: give text or json")
        else:
            rest.append(word)
    return output, rest


def lines(finding: Finding, width: int) -> list[str]:
    """A finding as coloured lines of at most `width` characters; a longer word is not broken."""
    room = width - len(_INDENT)
    said = wrap(f"{finding.check}: {finding.said}", room, break_long_words=False, break_on_hyphens=False)
    remedy = wrap(finding.remedy, room, break_long_words=False, break_on_hyphens=False)
    level = click.style(f"{finding.level:{len(_INDENT)}}", fg=_COLOURS[finding.level])
    return [
        level + said[0],
        *(_INDENT + each for each in said[1:]),
        *(click.style(_INDENT + e, dim=True) for e in remedy),
    ]
