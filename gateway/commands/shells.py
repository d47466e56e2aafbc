"""Shell completion: click's protocol, extended to values after an equals sign."""

from __future__ import annotations

from glob import escape, glob
from pathlib import Path

from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
)


class _Whole(ShellComplete):
    """A shell that passes `--name=value` as one word, so that each completion has to begin with `--name=`."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        found = super().get_completions(args, incomplete)
        name, equals, _ = incomplete.partition("=")
        if not (equals and name.startswith("--")):
            return found
        offered = []
        for item in found:
            values = [item.value] if item.type == "plain" else _paths(str(item.value), item.type)
            offered += [CompletionItem(f"{name}={value}", help=item.help) for value in values]
        return offered

    def script(self) -> str:
        """The completion script for the shell."""
        return self.source()


def _paths(beginning: str, kind: str) -> list[str]:
    """The existing paths that begin with `beginning`, as a shell would complete them: files and directories for the
    `kind` "file", otherwise directories only.
    """
    there = map(Path, sorted(glob(f"{escape(beginning)}*")))  # noqa: PTH207  # Path().glob takes no absolute ones
    return [f"{path}/" if path.is_dir() else str(path) for path in there if kind == "file" or path.is_dir()]


class Zsh(_Whole, ZshComplete):
    pass


class Fish(_Whole, FishComplete):
    pass


class Bash(BashComplete):
    """A shell that passes `--name=value` as three words."""

    def get_completion_args(self) -> tuple[list[str], str]:
        args, incomplete = super().get_completion_args()
        return [word for word in args if word != "="], incomplete

    def script(self) -> str:
        """The completion script for the shell. Unlike click's `source`, it does not run bash to check its version."""
        return self.source_template % self.source_vars()


SHELLS: dict[str, type[Bash | Zsh | Fish]] = {"bash": Bash, "zsh": Zsh, "fish": Fish}


def register() -> None:
    """Registers these shells with click."""
    for name, shell in SHELLS.items():
        add_completion_class(shell, name)
