"""An etcd with users, with delays or without space, and what a server's clients may see meanwhile."""

from __future__ import annotations

import asyncio
import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from apiserver_gateway.testing import ApiServer
from storage.embedded import EmbeddedEtcd, find_binary
from tests.integration.server.client import Answer, ask, connect
from tests.robustness.members import Member
from tests.robustness.proxy import Proxy
from tests.until import until

MAPS = "/api/v1/namespaces/default/configmaps"


def write(server: ApiServer, seconds: int = 3, size: int = 1) -> Answer:
    """Creates a ConfigMap, with a client timeout in seconds."""
    body = {"metadata": {"generateName": "x-"}, "data": {"a": "x" * size}}
    return ask(server, "POST", f"{MAPS}?timeout={seconds}s", body)


def works(server: ApiServer, seconds: int = 3) -> bool:
    """Whether writes, within some seconds, and consistent reads are answered, and the server is ready."""
    return write(server, seconds).status == 201 and all(
        ask(server, "GET", path).status == 200 for path in (MAPS, "/readyz")
    )


def is_clear(answer: Answer) -> bool:
    """Whether a refusal is a Status with a readable message. A timeout of the request itself names no kind."""
    status = answer.json
    named = status.get("kind") == "Status" or answer.status == 504
    known = named and answer.status in (500, 503, 504) and status["code"] == answer.status
    return known and bool(status["message"]) and "Traceback" not in status["message"]


class Watcher:
    """A watch of ConfigMaps that a thread reads."""

    def __init__(self, server: ApiServer) -> None:
        version = ask(server, "GET", MAPS).json["metadata"]["resourceVersion"]
        connection = connect(server, timeout=120)
        path = f"{MAPS}?watch=true&resourceVersion={version}"
        connection.request("GET", path, headers={"Authorization": f"Bearer {server.token}"})
        self._answer = connection.getresponse()
        assert self._answer.status == 200
        self._names: set[str] = set()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self._answer:
            self._names.add(json.loads(line)["object"]["metadata"]["name"])

    def hears_of(self, made: Answer) -> None:
        """Waits for the event of the object that was created."""
        assert made.status == 201, made.body
        until(lambda: made.json["metadata"]["name"] in self._names)


def etcdctl(etcd: EmbeddedEtcd | Member, *words: str, said: str = "") -> None:
    """Runs etcdctl with a line on its standard input, with a timeout for a busy machine."""
    program = find_binary().with_name("etcdctl")
    patience = "--dial-timeout=60s", "--command-timeout=60s"
    command = [str(program), f"--endpoints={etcd.endpoint}", *patience, *words]
    done = subprocess.run(command, input=said, capture_output=True, text=True, timeout=120)
    assert not done.returncode, done.stderr


@contextmanager
def proxied(target: int) -> Iterator[Proxy]:
    """A proxy for a port of this machine, on its own event loop."""
    proxy, ready, end = Proxy(target), threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def run() -> None:
        async with proxy.running():
            ready.set()
            await end.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(run()))
    thread.start()
    assert ready.wait(60)
    try:
        yield proxy
    finally:
        loop.call_soon_threadsafe(end.set)
        thread.join()
        loop.close()


@contextmanager
def small_disk(place: Path, megabytes: int) -> Iterator[Path]:
    """A file system of that many megabytes. The test is skipped if it cannot be mounted."""
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=700", "tmpfs", str(place)]
    try:
        mounted = subprocess.run(words, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("nothing can be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)
