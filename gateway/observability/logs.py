"""Structured logs on standard error: each record is one line, with `key=value` pairs or as JSON.

Python's warnings and uncaught exceptions become records too.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import time
from collections.abc import Sequence
from types import TracebackType

from gateway.settings.verbosity import EVERYTHING, Pattern, covers

_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName", "color_message"}


def configure(format_: str, verbosity: int = 2, vmodule: Sequence[Pattern] = ()) -> None:
    """Sends all records to standard error, in the format "text" or "json". `verbosity` (--v) says which records, and
    `vmodule` (--vmodule) does so for single modules.
    """
    level = logging.DEBUG if verbosity >= EVERYTHING else logging.INFO
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if format_ == "json" else TextFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name, level_of_module in _levels(vmodule):
        logging.getLogger(name).setLevel(level_of_module)
    for chatty in ("asyncio", "grpc"):
        logging.getLogger(chatty).setLevel(max(level, logging.INFO))
    logging.getLogger("uvicorn").setLevel(logging.WARNING)  # the server itself logs when it is ready
    # the server itself logs why it does not start
    logging.getLogger("uvicorn.error").addFilter(lambda record: not str(record.msg).endswith("failed. Exiting."))
    # asyncio logs each write to a client that has closed its connection: an answer to a list has hundreds of writes
    logging.getLogger("asyncio").addFilter(lambda record: record.msg != "SSL connection is closed")
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # gRPC's C core would write lines that are not records
    logging.captureWarnings(True)
    sys.excepthook = _uncaught
    threading.excepthook = lambda caught: _uncaught(caught.exc_type, caught.exc_value, caught.exc_traceback)
    sys.unraisablehook = lambda caught: _uncaught(caught.exc_type, caught.exc_value, caught.exc_traceback)


def _uncaught(kind: type[BaseException], error: BaseException | None, traceback: TracebackType | None, /) -> None:
    """Logs an uncaught exception, except Ctrl-C and SystemExit."""
    if error is None or issubclass(kind, KeyboardInterrupt | SystemExit):
        return
    logging.getLogger("gateway").critical("uncaught: %s", error, exc_info=(kind, error, traceback))


def _levels(vmodule: Sequence[Pattern]) -> list[tuple[str, int]]:
    """The modules that match --vmodule, with their log levels."""
    if not vmodule:
        return []
    from gateway.settings.verbosity import modules

    return [
        (module, logging.DEBUG if verbosity >= EVERYTHING else logging.INFO if verbosity else logging.WARNING)
        for module in modules()
        if (verbosity := covers(vmodule, module)) is not None
    ]


class TextFormatter(logging.Formatter):
    """`time level logger message key=value …`, and a traceback on lines that begin with a tab."""

    def format(self, record: logging.LogRecord) -> str:
        fields = "".join(f" {key}={_plain(value)}" for key, value in _extra(record).items())
        message = _one_line(record.getMessage())
        text = f"{_time(record)} {record.levelname.lower()} {record.name}: {message}{fields}"
        if record.exc_info:
            text += "".join(f"\n\t{_one_line(line)}" for line in self.formatException(record.exc_info).splitlines())
        return text


class JsonFormatter(logging.Formatter):
    """One JSON object a record."""

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, object] = {"time": _time(record), "level": record.levelname.lower(), "logger": record.name}
        entry |= {"message": record.getMessage(), **_extra(record)}
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry, default=str)


def _extra(record: logging.LogRecord) -> dict[str, object]:
    """The fields that the caller gave as `extra`."""
    return {key: value for key, value in record.__dict__.items() if key not in _STANDARD}


def _time(record: logging.LogRecord) -> str:
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
    return f"{whole}.{int(record.msecs):03d}Z"


def _plain(value: object) -> str:
    text = str(value)
    return json.dumps(text) if not text or any(char in text for char in ' "=') or not text.isprintable() else text


def _one_line(text: str) -> str:
    """The text with line ends and control characters escaped: what a client sends must not look like a record."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
