"""`apiserver-gateway serve`. Servers start by it, so it imports nothing that only people need."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence

from gateway.settings.command_line import read_flags, settings_of
from gateway.settings.config import InvalidSettings


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
    from gateway.launch.launch import LaunchError, launch

    try:
        return launch(settings, given.control, given.throw_away)
    except (InvalidSettings, LaunchError) as error:
        if settings.log_format == "text":
            return _refused(str(error))
        logging.getLogger("gateway").error("%s", error)  # every line is JSON
        return 1


def _refused(message: str) -> int:
    print(f"apiserver-gateway: {message}", file=sys.stderr)
    return 1
