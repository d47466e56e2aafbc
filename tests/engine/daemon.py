"""A dockerd for these tests alone. Its images are kept from run to run; nothing else is.

It uses the machine's network, so no other dockerd may run here. If one does, give its address as DOCKER_HOST.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from tests.engine import machine, tools

ROOT = tools.PLACE / "docker"
START_SECONDS = 120
STOP_SECONDS = 90
_KEPT = {"image", "overlay2", "vfs", "buildkit", "trust"}  # of a data root: the parts that make up images
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG


class NoEngine(Exception):
    """No engine can run here; the message says why."""


@contextmanager
def engine() -> Iterator[str]:
    """Yields the address of an engine, for DOCKER_HOST. Raises NoEngine. All containers are removed at the end."""
    if os.geteuid():
        raise NoEngine("dockerd wants root")
    with ExitStack() as stack:
        _lock(stack)
        _wait_for_others()
        stack.enter_context(machine.left_as_found())
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="engine-")))
        stack.callback(_unmount, directory)
        try:
            started = _start(directory)
        except NoEngine:  # remove half-written images of a killed engine, and try again
            _unmount(ROOT)
            shutil.rmtree(ROOT, ignore_errors=True)
            started = _start(directory)
        host, process = started
        try:
            yield host
        finally:
            _remove_containers(host)
            process.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(STOP_SECONDS)
            process.kill()
            process.wait()


def _lock(stack: ExitStack) -> None:
    tools.PLACE.mkdir(parents=True, exist_ok=True)
    file = stack.enter_context((tools.PLACE / "lock").open("w"))
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"waiting for another engine that uses {ROOT}", flush=True)
        fcntl.flock(file, fcntl.LOCK_EX)


def _wait_for_others() -> None:
    """Waits for the end of an engine whose tests were killed. Raises NoEngine if another engine runs."""
    deadline = time.monotonic() + STOP_SECONDS
    while others := machine.daemons():
        if f"--data-root={ROOT} " not in " ".join(others.values()) or time.monotonic() > deadline:
            running = ", ".join(f"{number} ({command})" for number, command in others.items())
            raise NoEngine(f"another dockerd runs: process {running}; name its address in DOCKER_HOST, or stop it")
        for process in others:
            _await_end(process, max(0.0, deadline - time.monotonic()))


def _await_end(process: int, patience: float) -> None:
    """Waits until a process has ended, for at most `patience` seconds."""
    with suppress(ProcessLookupError):
        handle = os.pidfd_open(process)
        try:
            select.select([handle], [], [], patience)
        finally:
            os.close(handle)


def _start(directory: Path) -> tuple[str, subprocess.Popen[bytes]]:
    """Starts an engine and waits until it answers. Returns its process. Raises NoEngine with its output."""
    _forget_containers()
    host = f"unix://{directory}/docker.sock"
    words = ["dockerd", f"--data-root={ROOT}", f"--exec-root={directory}/exec", f"--pidfile={directory}/pid"]
    log = directory / "log"
    path = os.environ["PATH"] + os.pathsep + "/usr/sbin:/sbin"
    with log.open("wb") as out:
        try:
            process = subprocess.Popen(
                [*words, f"--host={host}"],
                env={**os.environ, "PATH": path},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                preexec_fn=_end_with_parent,
            )
        except OSError as error:
            raise NoEngine(f"dockerd cannot be started: {error}") from None
    deadline = time.monotonic() + START_SECONDS
    while subprocess.run(["docker", "--host", host, "version"], capture_output=True).returncode:
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            process.wait()
            said = log.read_text(errors="replace").strip().splitlines() or ["it said nothing"]
            raise NoEngine(f"dockerd does not run here: {said[-1][:600]}")
        time.sleep(0.2)
    return host, process


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGTERM)


def _forget_containers() -> None:
    """Removes the containers of an engine that was killed; they would be started again."""
    _unmount(ROOT)
    if ROOT.is_dir():
        for each in ROOT.iterdir():
            if each.name not in _KEPT:
                shutil.rmtree(each, ignore_errors=True)


def _unmount(directory: Path) -> None:
    mounts = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
    for place in reversed(mounts):
        if place.startswith(f"{directory}/"):
            subprocess.run(["umount", "--lazy", place], capture_output=True)


def _remove_containers(host: str) -> None:
    listed = subprocess.run(["docker", "--host", host, "ps", "--all", "--quiet"], capture_output=True, text=True)
    if names := listed.stdout.split():
        subprocess.run(["docker", "--host", host, "rm", "--force", "--volumes", *names], capture_output=True)
    for kind in ("network", "volume", "image"):
        subprocess.run(["docker", "--host", host, kind, "prune", "--force"], capture_output=True)
