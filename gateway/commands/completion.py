"""`apiserver-gateway completion SHELL`."""

from __future__ import annotations

import click

from gateway.commands import shells


@click.command(short_help="print a completion script for a shell")
@click.argument("shell", type=click.Choice(tuple(shells.SHELLS)))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Prints a script for SHELL. The script completes commands, flags, and the values of flags that have a choice.

    \b
      bash   source <(apiserver-gateway completion bash)
      zsh    source <(apiserver-gateway completion zsh)
      fish   apiserver-gateway completion fish | source
    """
    from gateway.commands.program import COMPLETE, NAME

    root = context.find_root().command
    click.echo(shells.SHELLS[shell](root, {}, NAME, COMPLETE).script())
