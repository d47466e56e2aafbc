"""`apiserver-gateway serve`. Servers start by it, so it imports nothing that only people need."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from gateway.command_line import CONFIG_VARIABLE, Given, read_flags
from gateway.config import InvalidSettings, Settings
from gateway.flags import settings_from


def serve(words: Sequence[str]) -> int:
    """Serves as the flags say; returns the exit status. What is wrong is a line on standard error, and 1."""
    try:
        given = read_flags(words)
    except InvalidSettings as error:
        return _refused(f"{error}; see apiserver-gateway serve --help")
    try:
        settings = settings_of(given, os.environ)
    except InvalidSettings as error:
        return _refused(str(error))
    from gateway.launch import LaunchError, launch

    try:
        return launch(settings, given.control, given.throw_away)
    except (InvalidSettings, LaunchError) as error:
        return _refused(str(error))


def settings_of(given: Given, environment: Mapping[str, str]) -> Settings:
    """The settings of command line, environment and --config's file. Raises InvalidSettings."""
    config = given.config or (Path(variable) if (variable := environment.get(CONFIG_VARIABLE)) else None)
    if config is None:
        return settings_from(given.texts, environment)
    from gateway.config_file import read_config

    return settings_from(given.texts, environment, read_config(config), f"--config={config}")


def _refused(message: str) -> int:
    print(f"apiserver-gateway: {message}", file=sys.stderr)
    return 1
