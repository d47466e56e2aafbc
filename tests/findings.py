"""Records skipped tests, and errors in servers' logs, for a check after the run.

With APISERVER_GATEWAY_FINDINGS=FILE each is a line of JSON in that file; .ci/findings.py compares them with a list of
known ones. Each process of pytest-xdist writes its own. A server's log is read when the server ends.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from apiserver_gateway.testing import ApiServer

FILE = os.environ.get("APISERVER_GATEWAY_FINDINGS", "")
_MOST = 1 << 24  # bytes of a log that are read


def skipped(report: pytest.TestReport) -> None:
    """Records a skipped test with its reason."""
    if FILE and report.skipped and "PYTEST_XDIST_WORKER" not in os.environ:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        _note({"kind": "skip", "test": report.nodeid, "text": reason.removeprefix("Skipped: ")})


def read_logs() -> None:
    """Reads each server's log when the server ends."""
    if not FILE:
        return
    end = ApiServer._end

    def ended(server: ApiServer, how: signal.Signals) -> int:
        test = os.environ.get("PYTEST_CURRENT_TEST", "").partition(" ")[0]
        try:
            log = server.log_file.open("rb")  # open it now: it may be removed when the server has ended
        except FileNotFoundError:
            return end(server, how)
        with log:
            log.seek(getattr(server, "log_seen", 0))
            status = end(server, how)
            lines = log.read(_MOST).decode("utf-8", "replace").splitlines()
            server.log_seen = log.tell()  # type: ignore[attr-defined]  # of this module alone
            for line in errors(lines):
                _note({"kind": "log", "test": test, "text": line})
        return status

    ApiServer._end = ended  # type: ignore[assignment]  # servers of users of the package are not looked at


def errors(lines: Sequence[str]) -> list[str]:
    """The records of level error among the lines of a log, each once, and tracebacks with their last line."""
    found: dict[str, None] = {}
    for index, line in enumerate(lines):
        is_error = " error " in line[:40] or '"level": "error"' in line
        trace = line.startswith(("\tTraceback", "Traceback"))
        if is_error or trace:
            rest = lines[index + 1 :]
            last = next((rest[i - 1] for i in range(1, len(rest)) if not rest[i].startswith(("\t", " "))), "")
            found[(line.partition(" error ")[2] or line)[:400] + (f" … {last.strip()[:200]}" if trace else "")] = None
    return list(found)


def _note(finding: dict[str, str]) -> None:
    with Path(FILE).open("a", encoding="utf-8") as file:
        file.write(json.dumps(finding) + "\n")
