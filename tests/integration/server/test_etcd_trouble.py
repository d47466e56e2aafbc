"""A server whose embedded etcd dies or is full."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from apiserver_gateway.testing import ApiServer, api_server
from apiserver_gateway.throwaway import remove
from storage.embedded import EmbeddedEtcd
from storage.errors import NoSpace
from storage.etcd import EtcdClient, EtcdSettings
from tests.conftest import PATIENCE
from tests.integration.crash import hardest
from tests.integration.server.client import ask
from tests.until import until


def etcd_of(server: ApiServer) -> int:
    """The process of the server's etcd: the child of its guard that is not a shell."""
    guards = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text(encoding="ascii").split()
    for task in Path(f"/proc/{server.pid}/task").iterdir():
        with contextlib.suppress(OSError):  # a thread or process that has ended meanwhile
            guards += (task / "children").read_text(encoding="ascii").split()
    for guard in guards:
        with contextlib.suppress(OSError):
            for child in Path(f"/proc/{guard}/task/{guard}/children").read_text(encoding="ascii").split():
                if b"--data-dir" in Path(f"/proc/{child}/cmdline").read_bytes() and _name(child) != "sh":
                    return int(child)
    raise AssertionError("no etcd")


def _name(pid: str) -> str:
    return Path(f"/proc/{pid}/exe").readlink().name.replace("dash", "sh").replace("bash", "sh")


@pytest.mark.etcd
def test_a_dead_etcd_is_replaced_and_told_of() -> None:
    with api_server() as server:
        body = {"metadata": {"name": "kept"}}
        assert ask(server, "POST", "/api/v1/namespaces", body).status == 201
        etcd = etcd_of(server)
        os.kill(etcd, hardest(Path(f"/proc/{etcd}/exe").readlink()))
        deadline = time.monotonic() + 60
        while (
            "the embedded etcd is running again" not in server.log_file.read_text()
            or ask(server, "GET", "/readyz").status != 200
        ):
            assert time.monotonic() < deadline
        assert ask(server, "POST", "/api/v1/namespaces", {"metadata": {"name": "new"}}).status == 201
        assert ask(server, "GET", "/api/v1/namespaces/kept").status == 200
        assert "the embedded etcd ended, starting it again" in server.log_file.read_text()


@pytest.mark.parametrize("workers", ["1", "2"])
def test_without_its_etcd_a_server_ends(tmp_path: Path, workers: str) -> None:
    server = ApiServer(tmp_path, [f"--data-dir={tmp_path}/data", f"--workers={workers}"])
    server.start()
    etcd, ended = etcd_of(server), os.pidfd_open(server.pid)
    remove(tmp_path / "data" / "member")  # etcd is just writing into it
    os.kill(etcd, signal.SIGKILL)
    assert _readable(ended, 60), "the server is still there"
    assert server.stop() == 1
    assert "cannot be started again" in server.log_file.read_text().splitlines()[-1]
    assert "ending: the embedded etcd" in server.log_file.read_text()


def _readable(descriptor: int, timeout: float) -> bool:
    return bool(select.select([descriptor], [], [], timeout)[0])


POISONED = """
import sys
from storage.feed import Feed
from gateway.commands.cli import main

async def take(self, batch):
    raise ZeroDivisionError("poisoned")

Feed._take = take
sys.exit(main(sys.argv[1:]))
"""


def test_a_failed_feed_ends_the_server(tmp_path: Path) -> None:
    """Else it would serve an outdated cache for ever."""
    with EmbeddedEtcd() as etcd:
        command = [sys.executable, "-c", POISONED, "serve", "--bind-address=127.0.0.1", "--secure-port=0"]
        command += [f"--etcd-servers={etcd.endpoint}", f"--cert-dir={tmp_path}"]
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode == 1
    assert " gateway.launch.app: feed failed\n\tTraceback" in ended.stderr
    assert ended.stderr.splitlines()[-1] == "apiserver-gateway: feed failed: ZeroDivisionError: poisoned"


@pytest.fixture
def small() -> Iterator[EmbeddedEtcd]:
    with EmbeddedEtcd(arguments=["--quota-backend-bytes=4194304"]) as etcd:
        yield etcd


async def test_a_full_etcd_is_named_and_what_helps(small: EmbeddedEtcd) -> None:
    with api_server(etcd_servers=small.endpoint) as server:
        until(lambda: ask(server, "GET", "/readyz").status == 200)  # the default objects exist
        async with EtcdClient(EtcdSettings((small.endpoint,), timeout=PATIENCE)) as client:
            with pytest.raises(NoSpace):
                for number in range(100):
                    await client.put(f"/fill/{number}".encode(), b"x" * 1_000_000)
        refused = ask(server, "POST", "/api/v1/namespaces", {"metadata": {"name": "new"}})
        assert (refused.status, refused.json["code"]) == (500, 500) and "reason" not in refused.json
        assert refused.json["message"].startswith("etcdserver: mvcc: database space exceeded: compact")
        assert "POST /api/v1/namespaces failed: etcdserver: mvcc" in server.log_file.read_text()
        ready = ask(server, "GET", "/readyz")
        assert ready.status == 500 and b"[-]etcd-readiness failed" in ready.body
        assert b"database space exceeded: compact" in ask(server, "GET", "/readyz/etcd-readiness").body
        assert ask(server, "GET", "/livez").status == 200
        assert ask(server, "GET", "/api/v1/namespaces/default").status == 200
        assert ask(server, "DELETE", "/api/v1/namespaces/default/pods").status < 500
