"""A run of pytest with its own directory for temporary files, and a check that it leaves nothing behind."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from apiserver_gateway.throwaway import remove
from tests import plugins

ROOT = Path(__file__).parents[3]
MARK = "APISERVER_GATEWAY_TEST_RUN"  # in the environment of all processes of a run
PATIENCE = 60.0  # seconds until all of them have ended

TESTS = """
import os, pytest
os.write(1, b"begins\\n")
from apiserver_gateway.testing import ask, namespace, webhook

@pytest.fixture
def slow(kubernetes_api):
    with namespace(kubernetes_api):
        os.write(1, b"in the fixture\\n")
        yield
        ask(kubernetes_api, "GET", "/api/v1/namespaces/default")

def test_it(slow, kubernetes_api, kubernetes_namespace):
    with webhook(kubernetes_api, lambda request: None, "configmaps"):
        path = f"/api/v1/namespaces/{kubernetes_namespace}/configmaps"
        ask(kubernetes_api, "POST", path, {"metadata": {"name": "a"}})

def test_that(fresh_kubernetes_api):
    fresh_kubernetes_api.kill()
    fresh_kubernetes_api.start()
    ask(fresh_kubernetes_api, "GET", "/api/v1/namespaces/default")

def test_more(fresh_kubernetes_api):
    ask(fresh_kubernetes_api, "GET", "/api/v1/namespaces/default")
"""


@dataclass(frozen=True, slots=True)
class Run:
    """A run of pytest: its process, and the temporary directory of all that it starts."""

    process: subprocess.Popen[bytes]
    mark: str
    temporary: Path

    def says(self, words: bytes) -> None:
        """Waits for a line of its output."""
        assert self.process.stdout is not None
        assert any(words in line for line in self.process.stdout), "it ended before"

    def processes(self) -> dict[int, str]:
        """The running processes of the run: maps process id to description."""
        found = {}
        for each in Path("/proc").glob("[0-9]*"):
            try:
                if self.mark.encode() in (each / "environ").read_bytes():
                    found[int(each.name)] = (each / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
        return found

    def left(self) -> list[str]:
        """The processes and files that remain after all have had time to end."""
        self.process.wait(120)
        deadline = time.monotonic() + PATIENCE
        # a process may start another one just before it ends, so look twice
        while (found := self.processes() or self.processes()) and time.monotonic() < deadline:
            _ended(next(iter(found)), deadline)
        return [f"{pid} {what}" for pid, what in found.items()] + [str(each) for each in self.temporary.rglob("*")]


def _ended(pid: int, deadline: float) -> None:
    """Waits for the end of a process that may not be a child of this one."""
    try:
        process = os.pidfd_open(pid)
    except OSError:
        return
    try:
        select.select([process], [], [], max(deadline - time.monotonic(), 0))
    finally:
        os.close(process)


@contextmanager
def run(
    directory: Path, tests: str = TESTS, temporary: Path | None = None, inside: Sequence[str] = ()
) -> Iterator[Run]:
    """Runs tests in a directory with a command that takes the run's words as arguments.

    `temporary` is the directory for temporary files; a new one by default.
    """
    (directory / "test_it.py").write_text(tests)
    (directory / "pytest.ini").write_text("[pytest]\n")
    own = temporary or Path(tempfile.mkdtemp(prefix="run-", dir="/tmp"))
    mark = f"{MARK}={uuid.uuid4().hex}"
    words = ("-q", "-s", "-x", "-p", "apiserver_gateway.testing.plugin", "-p", "no:cacheprovider", *plugins.OURS)
    process = subprocess.Popen(
        [*inside, sys.executable, "-m", "pytest", *words, f"--basetemp={directory}/base"],
        cwd=directory,
        env=environment(mark, own),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a background process ignores it
    )
    assert process.stdout is not None
    try:
        with process.stdout:
            yield Run(process, mark, own)
    finally:
        process.kill()
        process.wait()
        if temporary is None:
            remove(own)


def environment(mark: str, temporary: Path) -> Mapping[str, str]:
    """The environment of the run's processes."""
    name, _, value = mark.partition("=")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return {**kept, name: value, "TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)}
