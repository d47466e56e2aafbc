"""The command line program: its commands, their help, and their failures in one line each."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module

import click

from gateway.commands import shells
from gateway.commands.command_failed import CommandFailed
from gateway.commands.help import CONTEXT

NAME = "apiserver-gateway"
COMPLETE = "_APISERVER_GATEWAY_COMPLETE"  # the variable by which a shell asks for completions

COMMANDS = {
    "serve": "serve:command",
    "up": "up:command",
    "kubeconfig": "kubeconfig:command",
    "cluster": "cluster:command",
    "backup": "backup:backup",
    "restore": "backup:restore",
    "export": "transfer:export",
    "import": "transfer:import_files",
    "doctor": "doctor:command",
    "make-secrets": "make_secrets:command",
    "etcd": "etcd:command",
    "envtest-assets": "envtest_assets:command",
    "completion": "completion:command",
    "version": "version:command",
}


class CommandGroup(click.Group):
    """A click group that imports the module of a command when it is called or its help is shown."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        place = COMMANDS.get(cmd_name)
        if place is None:
            return None
        module, _, name = place.partition(":")
        command: click.Command = getattr(import_module(f"gateway.commands.{module}"), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Like click's, but the error for an unknown command suggests one with a similar name."""
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in COMMANDS:
            similar = get_close_matches(name, COMMANDS, n=1)
            hint = f" (do you mean {similar[0]}?)" if similar else ""
            raise click.UsageError(f"no such command '{name}'{hint}", ctx)
        return super().resolve_command(ctx, args)


def run(words: Sequence[str]) -> int:
    """Runs a command; returns its exit status: 1 after any error, 130 after Ctrl-C."""
    shells.register()
    version = click.Option(
        ["--version"], is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version."
    )
    about = "A Kubernetes API server whose only database is etcd."
    program = CommandGroup(help=about, context_settings=CONTEXT, params=[version])
    try:
        status = program.main(list(words), NAME, COMPLETE, standalone_mode=False)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.Abort:
        return 130
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return 1
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        path = context.command_path if context is not None else NAME
        return _refused(f"{_line(error.format_message())}; see {path} --help")
    except CommandFailed as error:
        return _refused(_line(str(error)))
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123  # the reader of the pipe is gone
        return 1
    return status if isinstance(status, int) else 0


def _version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from gateway.commands.version import versions

        click.echo(versions())
        context.exit()


def _line(message: str) -> str:
    message = " ".join(message.split())
    return message[:1].lower() + message[1:].rstrip(".") if message[:2].istitle() else message


def _refused(message: str) -> int:
    click.echo(f"{NAME}: {message}", err=True)
    return 1
