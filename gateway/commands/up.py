"""`apiserver-gateway up -- COMMAND`."""

from __future__ import annotations

import click

from gateway.commands.help import ServeFlags


@click.command(
    cls=ServeFlags,
    short_help="run a command against a throw-away server",
    options_metavar="[FLAGS OF serve]",
)
@click.argument("words", nargs=-1, metavar="-- COMMAND [ARGUMENTS]")
def command(words: tuple[str, ...]) -> int:
    """Runs a command with KUBECONFIG set to that of a new server, which is gone when the command ends."""
    at = words.index("--") if "--" in words else len(words)
    if not words[at + 1 :]:
        raise click.UsageError("up: say what to run: apiserver-gateway up [FLAGS] -- COMMAND")
    from apiserver_gateway.testing.up import up

    return up(words[:at], words[at + 1 :])
