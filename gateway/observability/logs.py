"""Structured logs: one line a record, `key=value` pairs or JSON, on standard error."""

from __future__ import annotations

import json
import logging
import sys
import time

_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName", "color_message"}


EVERYTHING = 4  # the verbosity at which nothing is left out


def configure(format_: str, verbosity: int = 2) -> None:
    """Sends all records to standard error, in the format "text" or "json"; how many they are is said by --v."""
    level = logging.DEBUG if verbosity >= EVERYTHING else logging.INFO
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if format_ == "json" else TextFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for chatty in ("asyncio", "grpc"):
        logging.getLogger(chatty).setLevel(max(level, logging.INFO))
    logging.getLogger("uvicorn").setLevel(logging.WARNING)  # the server says itself when it is ready
    # … and why it does not start
    logging.getLogger("uvicorn.error").addFilter(lambda record: not str(record.msg).endswith("failed. Exiting."))


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
    """What the caller gave as `extra`."""
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
