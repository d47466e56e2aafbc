"""The result of one check."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    OK = "OK"
    WARN = "WARN"
    FAIL = "FAIL"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check. `check` names the checked thing, `said` is the result, `remedy` what to do, "" for
    nothing.
    """

    check: str
    level: Severity
    said: str
    remedy: str = ""


def ok(check: str, said: str) -> Finding:
    return Finding(check, Severity.OK, said)


def warn(check: str, said: str, remedy: str) -> Finding:
    return Finding(check, Severity.WARN, said, remedy)


def fail(check: str, said: str, remedy: str) -> Finding:
    return Finding(check, Severity.FAIL, said, remedy)


def graded(check: str, said: str, value: float, warn_at: float, fail_at: float, remedy: str) -> Finding:
    """The finding for a measured value: WARN from `warn_at` on, FAIL from `fail_at` on."""
    if value < warn_at:
        return ok(check, said)
    return (warn if value < fail_at else fail)(check, said, remedy)
