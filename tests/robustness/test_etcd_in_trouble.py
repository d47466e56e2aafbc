"""While etcd refuses writes, is slow or full, reads from the cache work and writes get a Status; then all works again.

No server is restarted for that, and no watch misses an event.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from apiserver_gateway.testing import ApiServer, api_server
from storage.embedded import EmbeddedEtcd
from tests.hostile.probe import held_at_most
from tests.integration.etcd.guarding import mutual_tls
from tests.integration.server.client import Answer, ask
from tests.limits import within
from tests.robustness.trouble import MAPS, Watcher, etcdctl, is_clear, proxied, small_disk, works, write
from tests.until import until

HELD = 0.1  # seconds
LONG = 30  # seconds that a write may take which nothing but a busy machine delays
MEGABYTE = 1 << 20


@pytest.fixture
def guarded() -> Iterator[EmbeddedEtcd]:
    """An etcd that requires passwords, with tokens that expire soon."""
    with EmbeddedEtcd(arguments=["--auth-token-ttl=1"], loopback=True) as etcd:
        etcdctl(etcd, "user", "add", "root:root")
        etcdctl(etcd, "user", "grant-role", "root", "root")
        allow(etcd, "gateway:secret")
        etcdctl(etcd, "auth", "enable")
        yield etcd


def allow(etcd: EmbeddedEtcd, user: str, *more: str) -> None:
    """Creates an etcd user with the rights that a server needs; without a password, the user has a certificate."""
    etcdctl(etcd, *more, "role", "add", "registry")
    for key in (["--prefix=true", "registry", "readwrite", "/registry/"], ["registry", "readwrite", "compact_rev_key"]):
        etcdctl(etcd, *more, "role", "grant-permission", *key)
    etcdctl(etcd, *more, "user", "add", user, *(() if ":" in user else ("--no-password",)))
    etcdctl(etcd, *more, "user", "grant-role", user.partition(":")[0], "registry")


@contextmanager
def in_trouble(server: ApiServer) -> Iterator[None]:
    """Inside the block reads from the cache work. After it, everything else works again by itself."""
    watcher = Watcher(server)
    watcher.hears_of(write(server, LONG))
    pid = server.pid
    with held_at_most(server, HELD):
        yield
        until(lambda: works(server))
    watcher.hears_of(write(server, LONG))
    assert server.pid == pid


def test_tokens_of_etcd_expire_while_the_server_runs(guarded: EmbeddedEtcd) -> None:
    with (
        api_server("--etcd-username=gateway", "--etcd-password=secret", etcd_servers=guarded.endpoint) as server,
        in_trouble(server),
    ):
        for _ in range(3):
            time.sleep(1.5)  # longer than a token lives
            assert write(server, LONG).status == 201
            assert ask(server, "GET", MAPS).status == 200
            until(lambda: ask(server, "GET", "/readyz").status == 200)  # each look of its own has two seconds


@pytest.mark.parametrize("trouble", ["password", "role"])
def test_a_user_whom_etcd_refuses_for_a_while(guarded: EmbeddedEtcd, trouble: str) -> None:
    root = "--user=root:root"
    with (
        api_server("--etcd-username=gateway", "--etcd-password=secret", etcd_servers=guarded.endpoint) as server,
        in_trouble(server),
    ):
        if trouble == "password":
            set_password(guarded, "other")
        else:
            etcdctl(guarded, root, "user", "revoke-role", "gateway", "registry")
        until(lambda: is_refused(write(server, LONG)))
        assert is_clear(refused := write(server, LONG)) and is_refused(refused)
        assert "Traceback" not in server.log_file.read_text()
        until(lambda: ask(server, "GET", "/readyz").status == 500)
        if trouble == "password":
            set_password(guarded, "secret")
        else:
            etcdctl(guarded, root, "user", "grant-role", "gateway", "registry")


def is_refused(answer: Answer) -> bool:
    """Whether etcd itself refused a write: not a timeout."""
    return answer.status != 201 and str(answer.json.get("message")).startswith("etcdserver: ")


def set_password(etcd: EmbeddedEtcd, password: str) -> None:
    etcdctl(etcd, "--user=root:root", "user", "passwd", "gateway", "--interactive=false", said=f"{password}\n")


def test_a_user_by_certificate(tmp_path: Path) -> None:
    with mutual_tls(tmp_path) as (etcd, ca, cert, key):
        client = [f"--cacert={ca}", f"--cert={cert}", f"--key={key}"]
        etcdctl(etcd, *client, "user", "add", "root:root")
        etcdctl(etcd, *client, "user", "grant-role", "root", "root")
        allow(etcd, "client", *client)
        etcdctl(etcd, *client, "auth", "enable")
        flags = f"--etcd-cafile={ca}", f"--etcd-certfile={cert}", f"--etcd-keyfile={key}"
        with api_server(*flags, etcd_servers=etcd.endpoint) as server, in_trouble(server):
            etcd.stop()
            assert is_clear(write(server, 1))
            etcd.start()


def test_a_slow_way_to_etcd() -> None:
    """A request pays for the round trip to etcd; others are not slower."""
    with (
        EmbeddedEtcd(loopback=True) as etcd,
        proxied(int(etcd.endpoint.rpartition(":")[2])) as proxy,
        api_server(etcd_servers=proxy.endpoint) as server,
        in_trouble(server),
    ):
        proxy.delay = 0.25
        for _ in range(5):
            with within(6.0):
                assert write(server, LONG).status == 201
                assert ask(server, "GET", MAPS).status == 200
        proxy.delay = 2.0
        assert write(server, 1).status == 504
        proxy.heal()


def test_an_etcd_that_stops_again_and_again() -> None:
    """etcd stays slow for long enough to answer something, on any machine."""
    with EmbeddedEtcd() as etcd, api_server(etcd_servers=etcd.endpoint) as server, in_trouble(server):
        stop, answers, read = threading.Event(), list[int](), list[int]()

        def pulses() -> None:
            before = -1
            while not stop.wait(0.1):
                if (answered := len(answers) + len(read)) > before:
                    before = answered
                    etcd.pause()
                    stop.wait(0.4)
                    etcd.resume()

        pulsing = threading.Thread(target=pulses)
        pulsing.start()
        try:
            for _ in range(10):
                answers.append(write(server, LONG).status)
            for _ in range(10):
                read.append(ask(server, "GET", MAPS).status)
        finally:
            stop.set()
            pulsing.join()
        assert set(answers) == {201} and set(read) == {200}


def test_a_disk_that_is_full(tmp_path: Path) -> None:
    """etcd ends in that case. Its operator frees space and starts it again."""
    with (
        small_disk(tmp_path / "disk", 200) as disk,
        EmbeddedEtcd(disk / "etcd") as etcd,
        api_server(etcd_servers=etcd.endpoint) as server,
        in_trouble(server),
    ):
        with pytest.raises(OSError), (disk / "filler").open("wb", buffering=0) as filler:
            while True:
                filler.write(bytes(MEGABYTE))
        while (last := write(server, size=MEGABYTE // 2)).status == 201:
            pass
        assert is_clear(last)
        etcd.kill()
        (disk / "filler").unlink()
        etcd.start()


def test_a_quota_that_is_full(tmp_path: Path) -> None:
    """Deletions work. After the alarm is disarmed, all writes do."""
    with (
        EmbeddedEtcd(arguments=["--quota-backend-bytes=8388608"]) as etcd,
        api_server(
            "--etcd-compaction-interval=1s", "--etcd-compaction-retention=1s", etcd_servers=etcd.endpoint
        ) as server,
        in_trouble(server),
    ):
        made = []
        while (last := write(server, LONG, MEGABYTE // 2)).status == 201:
            made.append(last.json["metadata"]["name"])
        assert is_clear(last) and "database space exceeded" in last.json["message"]
        for name in made:
            assert ask(server, "DELETE", f"{MAPS}/{name}").status == 200
        at_start = time.monotonic()
        while True:
            time.sleep(2.5)  # until the server has compacted
            etcdctl(etcd, "defrag")
            etcdctl(etcd, "alarm", "disarm")
            if write(server).status == 201:
                break
            assert time.monotonic() < at_start + 90
