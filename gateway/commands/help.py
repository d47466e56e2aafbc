"""The help of commands: flags in groups like kube-apiserver's, with colours on a terminal."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import click

from gateway.settings.flags import GROUPS, Flag, shown_default


class Formatter(click.HelpFormatter):
    """Colours headings and names; click removes colours if the output is not a terminal."""

    def write_heading(self, heading: str) -> None:
        super().write_heading(click.style(heading, bold=True))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 34, col_spacing: int = 2) -> None:
        super().write_dl([(click.style(name, fg="cyan"), text) for name, text in rows], col_max, col_spacing)


class HelpContext(click.Context):
    formatter_class = Formatter


CONTEXT: dict[str, Any] = {
    "help_option_names": ["-h", "--help"],
    "max_content_width": 120,
    "color": False if os.environ.get("NO_COLOR") else None,
}

click.Command.context_class = HelpContext  # for all commands


class ServeFlags(click.Command):
    """A command with the flags of `serve`. click does not parse them: the command gets all words, and
    settings/command_line.py reads them.
    """

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.params += [_option(flag) for _, flags in GROUPS for flag in flags]
        path = click.Path(dir_okay=False)
        self.params.append(click.Option(["--config"], metavar="FILE", type=path, help="YAML file with flags as keys"))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        before = args[: args.index("--")] if "--" in args else args
        if set(before) & set(ctx.help_option_names) and not ctx.resilient_parsing:
            click.echo(self.get_help(ctx), color=ctx.color)
            ctx.exit()
        ctx.params["words"] = tuple(args)
        return []

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        grouped = {f"--{flag.name}" for _, flags in GROUPS for flag in flags}
        for title, flags in GROUPS:
            with formatter.section(f"{title} flags"):
                formatter.write_dl([(_shown(flag), _described(flag)) for flag in flags])
        others = [param for param in self.get_params(ctx) if not grouped & set(param.opts)]
        with formatter.section("Global flags"):
            formatter.write_dl([record for param in others if (record := param.get_help_record(ctx))])


def _shown(flag: Flag) -> str:
    return f"--{flag.name}" if flag.is_switch else f"--{flag.name} {flag.metavar}"


def _described(flag: Flag) -> str:
    default = shown_default(flag)
    return f"{flag.help} (default {default})" if default else flag.help


def _option(flag: Flag) -> click.Option:
    """The click option of a flag, with the values that shell completion offers."""
    choices = ("true", "false") if flag.is_switch else flag.choices
    kind: click.ParamType[Any] = click.STRING
    if flag.metavar in ("FILE", "FILES", "DIR"):
        kind = click.Path(dir_okay=flag.metavar == "DIR", file_okay=flag.metavar != "DIR")
    return click.Option(
        [f"--{flag.name}"],
        type=kind,
        help=flag.help,
        metavar=flag.metavar,
        multiple=flag.is_list,
        shell_complete=_completer(flag, choices) if choices or flag.name == "controllers" else None,
    )


def _completer(flag: Flag, choices: Sequence[str]) -> Any:
    from click.shell_completion import CompletionItem

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        offered = choices or _controllers()
        said, comma, begun = incomplete.rpartition(",") if flag.is_list else ("", "", incomplete)
        taken = set(said.split(","))
        return [
            CompletionItem(f"{said}{comma}{each}")
            for each in offered
            if each.lower().startswith(begun.lower()) and each not in taken
        ]

    return complete


def _controllers() -> Sequence[str]:
    from gateway.controllers.table import CONTROLLERS

    return ("*", *CONTROLLERS, *(f"-{name}" for name in CONTROLLERS))
