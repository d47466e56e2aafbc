"""A log record is one line, whatever it contains; tracebacks are told apart from records."""

from __future__ import annotations

import logging
import sys

from gateway.observability.logs import TextFormatter

FORGED = "\n2026-01-01T00:00:00.000Z error gateway: FORGED\x1b[31m\u2028"


def record(message: str, **extra: object) -> logging.LogRecord:
    made = logging.makeLogRecord({"msg": message, "levelname": "WARNING", "name": "gateway", **extra})
    return made


def test_what_a_client_sends_stays_on_the_line() -> None:
    for made in (record(FORGED), record("text", path=FORGED)):
        (line,) = TextFormatter().format(made).splitlines()
        assert "\x1b" not in line and "FORGED" in line


def test_a_traceback_looks_like_no_record() -> None:
    try:
        raise ValueError(FORGED)
    except ValueError:
        made = record("failed", exc_info=sys.exc_info())
    _, *lines = TextFormatter().format(made).split("\n")
    assert lines and all(line.startswith("\t") for line in lines)
