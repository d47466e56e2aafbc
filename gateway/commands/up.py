"""`apiserver-gateway up -- COMMAND`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from gateway.commands.help import ServeFlags

OWN = {"--faults": "a YAML file", "--pool": "the number of servers"}
MOST = 1000


@click.command(
    cls=ServeFlags,
    short_help="run a command with a throw-away server",
    options_metavar="[FLAGS OF serve]",
)
@click.argument("words", nargs=-1, metavar="-- COMMAND [ARGUMENTS]")
@click.option(
    "--faults", metavar="FILE", type=click.Path(dir_okay=False), help="YAML file with faults that the server injects"
)
@click.option("--pool", metavar="N", type=int, help="start N servers (1 to 1000), forked from one process")
def command(words: tuple[str, ...]) -> int:
    """Starts a throw-away API server, and runs COMMAND with KUBECONFIG set to the server's kubeconfig.

    The server and its data are deleted when COMMAND ends. Without COMMAND, on a terminal, it starts a shell.

    --faults FILE makes the server fail on purpose. The YAML file lists the faults: errors, delays and cut
    connections, each for certain requests.

    --pool N starts N servers, for tests that run in parallel. KUBECONFIG_1 and KUBERNETES_SERVER_1 name the first
    server, KUBECONFIG_2 the second, and so on. Without COMMAND, it prints these variables and runs the servers until
    standard input ends.
    """
    at = words.index("--") if "--" in words else len(words)
    wanted = words[at + 1 :]
    flags, own = _own_of(words[:at])
    pool = _number(own["--pool"])
    if not wanted and not pool:
        if "--" in words or not sys.stdin.isatty():
            raise click.UsageError("up: no command is given: apiserver-gateway up [FLAGS] -- COMMAND")
        wanted = (os.environ.get("SHELL", "/bin/sh"),)
        click.echo(
            "this shell has KUBECONFIG of a new API server: try kubectl get namespaces; exit stops the server", err=True
        )
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
                raise click.UsageError(f"up: {name} has no value: give {OWN[name]}")
        else:
            rest.append(flag)
    return rest, own


def _number(text: str) -> int:
    if text and not (text.isdecimal() and 1 <= int(text) <= MOST):
        raise click.UsageError(f"up: --pool={text}: give a number from 1 to {MOST}")
    return int(text or 0)
