"""How shells ask for completions: click's protocol, with values that come after an equals sign too."""

from __future__ import annotations

from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
)


class _Whole(ShellComplete):
    """The shell leaves `--name=value` whole: what is offered has to begin with `--name=`."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        found = super().get_completions(args, incomplete)
        name, equals, _ = incomplete.partition("=")
        if not (equals and name.startswith("--")):
            return found
        for item in found:
            if item.type == "plain":
                item.value = f"{name}={item.value}"
        return found

    def script(self) -> str:
        """What the shell is to read."""
        return self.source()


class Zsh(_Whole, ZshComplete):
    pass


class Fish(_Whole, FishComplete):
    pass


class Bash(BashComplete):
    """The shell hands over `--name=value` as three words."""

    def get_completion_args(self) -> tuple[list[str], str]:
        args, incomplete = super().get_completion_args()
        return [word for word in args if word != "="], incomplete

    def script(self) -> str:
        """What the shell is to read; unlike click's source it starts no bash to learn its version."""
        return self.source_template % self.source_vars()


SHELLS: dict[str, type[Bash | Zsh | Fish]] = {"bash": Bash, "zsh": Zsh, "fish": Fish}


def register() -> None:
    """Has click ask these."""
    for name, shell in SHELLS.items():
        add_completion_class(shell, name)
