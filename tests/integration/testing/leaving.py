"""A run of pytest in a directory for temporary files of its own, whose end leaves nothing; and what is left of it."""

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
    """A run of pytest: its process, and where temporary files of all that it starts are."""

    process: subprocess.Popen[bytes]
    mark: str
    temporary: Path

    def says(self, words: bytes) -> None:
        """Waits until it says so."""
        assert self.process.stdout is not None
        assert any(words in line for line in self.process.stdout), "it ended before"

    def processes(self) -> dict[int, str]:
        """Those of the run that are there, by their numbers: what they are."""
        found = {}
        for each in Path("/proc").glob("[0-9]*"):
            try:
                if self.mark.encode() in (each / "environ").read_bytes():
                    found[int(each.name)] = (each / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
        return found

    def left(self) -> list[str]:
        """The processes and files that are there once nothing ends any more."""
        self.process.wait(120)
        deadline = time.monotonic() + PATIENCE
        # one that is looked at just when it has ended may have started another one: nobody is there who looks twice
        while (found := self.processes() or self.processes()) and time.monotonic() < deadline:
            _ended(next(iter(found)), deadline)
        return [f"{pid} {what}" for pid, what in found.items()] + [str(each) for each in self.temporary.rglob("*")]


def _ended(pid: int, deadline: float) -> None:
    """Waits for the end of a process that may be nobody's child here."""
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
    """Runs tests in a directory, by a command that is to run the words behind it.

    `temporary` takes temporary files, a new directory without it.
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
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # which a run in the background ignores
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
    """What the run's processes have."""
    name, _, value = mark.partition("=")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return {**kept, name: value, "TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)}
