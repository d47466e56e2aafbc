"""Runs `apiserver-gateway serve`. It imports no library for help and colours, so that a server starts fast."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence

from gateway.settings.command_line import read_flags, settings_of
from gateway.settings.config import InvalidSettings
from gateway.settings.flag import PREFIX

_FORMAT_FLAGS = ("log-format", "logging-format")


def serve(words: Sequence[str]) -> int:
    """Runs a server with these flags; returns the exit status. An error is one line on standard error, and status 1."""
    as_json = _wants_json(words)
    try:
        given = read_flags(words)
    except InvalidSettings as error:
        return _refused(f"{error}; see apiserver-gateway serve --help", as_json)
    try:
        settings = settings_of(given, os.environ)
    except InvalidSettings as error:
        return _refused(str(error), as_json)
    from gateway.launch.errors import LaunchError
    from gateway.launch.launch import launch

    try:
        return launch(settings, given.control, given.throw_away)
    except (InvalidSettings, LaunchError) as error:
        return _refused(str(error), settings.log_format == "json")


def _wants_json(words: Sequence[str]) -> bool:
    """Whether the log format is JSON. Called before the flags are parsed: errors in flags are logged in that format."""
    said = os.environ.get(f"{PREFIX}LOG_FORMAT", "")
    for word, following in zip(words, (*words[1:], ""), strict=False):  # zip stops at the end of `words`
        name, separator, text = word.removeprefix("--").replace("_", "-").partition("=")
        if name in _FORMAT_FLAGS:
            said = text if separator else following
    return said == "json"


def _refused(message: str, as_json: bool) -> int:
    if as_json:
        from gateway.observability import logs

        logs.configure("json")
        logging.getLogger("gateway").error("%s", message)
    else:
        print(f"apiserver-gateway: {message}", file=sys.stderr)
    return 1
