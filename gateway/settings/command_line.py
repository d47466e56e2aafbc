"""Reads the command line of `serve` by the flag table. It imports no parser library, so that servers start fast."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from gateway.settings.config import InvalidSettings, Settings
from gateway.settings.flags import FLAGS, PREFIX, settings_from
from gateway.settings.foreign_flags import ALIASES, FIXED, REFUSED, why_not

OWN = ("config", "control-fd", "throw-away")  # flags that are not settings
CONFIG_VARIABLE = f"{PREFIX}CONFIG"

_BY_NAME = {flag.name: flag for flag in FLAGS}
_SHORT = re.compile(r"-v=?(\d*)")
_BOOLEANS = frozenset({"true", "false", "t", "f", "1", "0", "yes", "no"})


@dataclass(frozen=True, slots=True)
class CommandLine:
    """The content of a command line: texts by flag name, and the flags that are not settings.

    `control` is the descriptor of a socket to the process that started the server. `throw_away` is a directory that is
    removed with the server. Both are explained at `gateway.launch.launch.launch`.
    """

    texts: dict[str, str] = field(default_factory=dict)
    config: Path | None = None
    control: int | None = None
    throw_away: str | None = None


def read_flags(words: Sequence[str]) -> CommandLine:
    """Reads a command line. Accepts --name=value and --name value.

    A switch needs no value, and a list flag may be repeated. Names may have underscores instead of hyphens, as with
    pflag. Raises InvalidSettings.
    """
    texts: dict[str, str] = {}
    for name, text in _pairs(words):
        flag = _BY_NAME.get(name)
        if flag is not None and flag.is_list and name in texts:
            text = f"{texts[name]}{flag.separator}{text}"
        texts[name] = text
    config, control, throw_away = (texts.pop(name, None) for name in OWN)
    if control is not None and not control.isdecimal():
        raise InvalidSettings(f"--control-fd={control}: give a file descriptor")
    return CommandLine(texts, Path(config) if config else None, None if control is None else int(control), throw_away)


def _pairs(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    rest = iter(words)
    ahead: str | None = None
    while (word := ahead if ahead is not None else next(rest, None)) is not None:
        ahead = None
        if (short := _SHORT.fullmatch(word)) is not None:  # -v, -v4, -v=4
            word = f"--v={short[1]}" if short[1] else "--v"
        if not word.startswith("--") or word == "--":
            raise InvalidSettings(f"serve takes flags only, not {word!r}")
        name, separator, text = word[2:].partition("=")
        name = name.replace("_", "-")
        name = ALIASES.get(name, name)
        flag = _BY_NAME.get(name)
        if name in FIXED or name in REFUSED:
            if not separator:
                ahead = next(rest, None)
                text, ahead = ("true", ahead) if ahead is None or ahead.startswith("--") else (ahead, None)
            if refused := why_not(name, text):
                raise InvalidSettings(refused)
            continue
        if flag is None and name not in OWN:
            raise InvalidSettings(unknown(name))
        if not separator:
            following = next(rest, None)
            if flag is not None and flag.is_switch and (following is None or following.lower() not in _BOOLEANS):
                text, ahead = "true", following
            elif following is None:
                raise InvalidSettings(f"--{name} needs a value")
            else:
                text = following
        yield name, text


def unknown(name: str) -> str:
    """The message for an unknown flag, with a flag of a similar name."""
    similar = get_close_matches(name, _BY_NAME, 1)
    return f"there is no flag --{name}" + (f" (do you mean --{similar[0]}?)" if similar else "")


def settings_of(given: CommandLine, environment: Mapping[str, str]) -> Settings:
    """The settings by command line, environment and the file of --config. Raises InvalidSettings."""
    config = given.config or (Path(variable) if (variable := environment.get(CONFIG_VARIABLE)) else None)
    if config is None:
        return settings_from(given.texts, environment)
    from gateway.settings.config_file import read_config

    return settings_from(given.texts, environment, read_config(config), f"--config={config}")
