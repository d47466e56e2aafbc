"""`apiserver-gateway up -- COMMAND`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from gateway.commands.help import ServeFlags

OWN = {"--faults": "a YAML file", "--pool": "a number of servers"}
MOST = 1000


@click.command(
    cls=ServeFlags,
    short_help="run a command against a throw-away server",
    options_metavar="[FLAGS OF serve]",
)
@click.argument("words", nargs=-1, metavar="-- COMMAND [ARGUMENTS]")
@click.option("--faults", metavar="FILE", type=click.Path(dir_okay=False), help="YAML file of what goes wrong")
@click.option("--pool", metavar="N", type=int, help="so many servers, each forked from one process")
def command(words: tuple[str, ...]) -> int:
    """Runs a command with KUBECONFIG set to that of a new server, which is gone when the command ends.

    On a terminal, without a command, it is a shell.

    With --faults FILE, a YAML file, what that says goes wrong meanwhile.

    With --pool N there are N servers, for tests that run side by side: KUBECONFIG_1 and KUBERNETES_SERVER_1 are of the
    first, and so on. Without a command these lines are printed, and the servers are there until standard input ends.
    """
    at = words.index("--") if "--" in words else len(words)
    wanted = words[at + 1 :]
    flags, own = _own_of(words[:at])
    pool = _number(own["--pool"])
    if not wanted and not pool:
        if "--" in words or not sys.stdin.isatty():
            raise click.UsageError("up: say what to run: apiserver-gateway up [FLAGS] -- COMMAND")
        wanted = (os.environ.get("SHELL", "/bin/sh"),)
        click.echo("a shell with KUBECONFIG of a new server: kubectl get namespaces; exit ends both", err=True)
    from apiserver_gateway.testing.up import up

    return up(flags, wanted, own["--faults"], pool)


def _own_of(words: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The flags of `serve`, and the values of the flags of `up` by name, "" for a flag that is not given.

    Raises UsageError for a flag without a value.
    """
    own = dict.fromkeys(OWN, "")
    rest, given = list[str](), iter(words)
    for flag in given:
        name, _, value = flag.partition("=")
        if name in OWN:
            own[name] = value or next(given, "")
            if not own[name]:
                raise click.UsageError(f"up: {name} is {OWN[name]}")
        else:
            rest.append(flag)
    return rest, own


def _number(text: str) -> int:
    if text and not (text.isdecimal() and 1 <= int(text) <= MOST):
        raise click.UsageError(f"up: --pool={text}: give a number from 1 to {MOST}")
    return int(text or 0)
