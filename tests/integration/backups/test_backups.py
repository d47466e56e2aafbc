"""`backup` and `restore` with a real etcd and a real server."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from subprocess import PIPE

import pytest

from apiserver_gateway.testing import ApiServer, api_server
from storage.backups.file import verify
from storage.backups.marker import marker_key
from storage.backups.restore import RestoreRefused, restore
from storage.backups.take import take
from storage.embedded import EmbeddedEtcd
from storage.errors import StorageError
from storage.etcd import EtcdClient, EtcdSettings
from tests.integration.etcd.guarding import enable_users, mutual_tls
from tests.integration.server.client import ask

ROOT = Path(__file__).parents[3]


def run(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gateway", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=ROOT)


def told(outcome: subprocess.CompletedProcess[str]) -> str:
    """The messages of a command, without those about waiting for etcd on a busy machine."""
    lines = outcome.stderr.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("waiting for etcd at "))


def quiet(what: str, done: int, of: int) -> None:
    pass


async def fill(client: EtcdClient, prefix: str, count: int) -> None:
    for number in range(count):
        await client.put(f"{prefix}/a/{number:04}".encode(), os.urandom(number % 700))


async def state(client: EtcdClient, prefix: str) -> dict[bytes, bytes]:
    return {kv.key: kv.value for kv in (await client.prefix(f"{prefix}/".encode())).kvs}


async def test_values_come_back_byte_by_byte(etcd_client: EtcdClient, prefix: bytes, tmp_path: Path) -> None:
    root, path = prefix.decode().rstrip("/"), tmp_path / "backup"
    await fill(etcd_client, root, 1300)
    lease = (await etcd_client.leases.grant(500)).id
    await etcd_client.put(f"{root}/events/a".encode(), b"x", lease=lease)
    await etcd_client.put(f"{root}/masterleases/10.0.0.1".encode(), b"a server of then")
    before = await state(etcd_client, root)
    taken = await take(etcd_client, root, path)
    assert (path.stat().st_mode & 0o777, taken.keys, path.stat().st_size) == (0o600, 1301, taken.bytes)
    before.pop(f"{root}/masterleases/10.0.0.1".encode())

    other = f"{root}-other"
    restored = await restore(etcd_client, other, path, verify(path), told=quiet)
    after = await state(etcd_client, other)
    assert after == {key.replace(root.encode(), other.encode(), 1): value for key, value in before.items()}
    assert restored.keys == 1301 and restored.revision > taken.revision and not restored.behind
    (page, leases) = await etcd_client.kv.leased(f"{other}/events/a".encode(), b"")
    assert page.kvs[0].value == b"x" and leases[0] not in (0, lease)
    assert 400 < await etcd_client.leases.time_to_live(leases[0]) <= 500


async def test_a_backup_is_of_one_revision(own_client: EtcdClient, tmp_path: Path) -> None:
    """Writes during the backup are not in it."""
    await fill(own_client, "/registry", 400)
    before = await state(own_client, "/registry")
    seen = []

    taken_from = own_client.kv.leased

    async def leased(*given, **named):  # type: ignore[no-untyped-def]
        seen.append(await own_client.put(b"/registry/a/0399", b"changed"))
        await own_client.put(f"/registry/b/{len(seen)}".encode(), b"new")
        return await taken_from(*given, **named)

    own_client.kv.leased = leased  # type: ignore[method-assign]
    await take(own_client, "/registry", tmp_path / "backup")
    assert len(seen) > 1
    await restore(own_client, "/other", tmp_path / "backup", verify(tmp_path / "backup"), told=quiet)
    assert {
        key.replace(b"/other", b"/registry"): value for key, value in (await state(own_client, "/other")).items()
    } == (before)


async def test_a_compaction_meanwhile_is_said(own_client: EtcdClient, tmp_path: Path) -> None:
    await fill(own_client, "/registry", 400)
    taken_from = own_client.kv.leased

    async def leased(*given, **named):  # type: ignore[no-untyped-def]
        await own_client.put(b"/registry/a/0399", b"changed")
        await own_client.compact(await own_client.revision())
        return await taken_from(*given, **named)

    own_client.kv.leased = leased  # type: ignore[method-assign]
    with pytest.raises(StorageError, match="another client compacted it"):
        await take(own_client, "/registry", tmp_path / "backup")
    assert not os.listdir(tmp_path)  # noqa: PTH208  # in an async test


async def test_what_is_there_stays_unless_it_is_to_be_replaced(own_client: EtcdClient, tmp_path: Path) -> None:
    path = tmp_path / "backup"
    await fill(own_client, "/registry", 5)
    await take(own_client, "/registry", path)
    kept = await state(own_client, "/registry")
    await own_client.put(b"/registry/zzz", b"later")
    await own_client.put(b"/registry/apiserver-gateway/identity", b"later")
    with pytest.raises(RestoreRefused, match="there are 7 keys under /registry; add --replace"):
        await restore(own_client, "/registry", path, verify(path), told=quiet)
    await restore(own_client, "/registry", path, verify(path), replace=True, told=quiet)
    assert await state(own_client, "/registry") == kept


async def test_clients_of_before_are_told_to_list_again(own_client: EtcdClient, tmp_path: Path) -> None:
    """The new etcd's revision is higher than the backup's, and old resourceVersions and continue tokens get 410."""
    path = tmp_path / "backup"
    await fill(own_client, "/registry", 300)
    taken = await take(own_client, "/registry", path)
    with EmbeddedEtcd() as etcd:
        async with EtcdClient(EtcdSettings((etcd.endpoint,), timeout=60)) as client:
            restored = await restore(client, "/registry", path, verify(path), told=quiet)
            assert restored.revision > taken.revision and not restored.behind
            with pytest.raises(StorageError, match="compacted"):
                await client.range(b"/registry/", revision=taken.revision)


async def test_no_restore_beside_servers(own_client: EtcdClient, tmp_path: Path) -> None:
    await own_client.put(b"/registry/a", b"{}")
    await take(own_client, "/registry", tmp_path / "backup")
    await own_client.put(b"/registry/masterleases/10.0.0.7", b"x")
    with pytest.raises(RestoreRefused, match=r"API servers use /registry: 10\.0\.0\.7; stop them first"):
        await restore(own_client, "/registry", tmp_path / "backup", verify(tmp_path / "backup"), told=quiet)


async def test_of_two_restores_one_fails(own_client: EtcdClient, tmp_path: Path) -> None:
    path = tmp_path / "backup"
    await fill(own_client, "/from", 300)
    await take(own_client, "/from", path)
    commit = own_client.txn

    async def overtaken(*given, **named):  # type: ignore[no-untyped-def]
        own_client.txn = commit  # type: ignore[method-assign]
        await restore(own_client, "/registry", path, verify(path), told=quiet)
        return await commit(*given, **named)

    own_client.txn = overtaken  # type: ignore[method-assign]
    with pytest.raises(StorageError, match="another restore replaced this one"):
        await restore(own_client, "/registry", path, verify(path), told=quiet)
    assert len(await state(own_client, "/registry")) == len(await state(own_client, "/from"))


async def test_a_restore_that_was_broken_off_is_made_anew(own_client: EtcdClient, tmp_path: Path) -> None:
    path = tmp_path / "backup"
    await fill(own_client, "/from", 500)
    await take(own_client, "/from", path)
    expected = len(await state(own_client, "/from"))
    begun = False

    def told(what: str, done: int, of: int) -> None:
        nonlocal begun
        begun = begun or what == "writing"
        if begun:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await restore(own_client, "/registry", path, verify(path), told=told)
    assert await own_client.get(marker_key("/registry")) is not None
    said: list[str] = []
    await restore(own_client, "/registry", path, verify(path), told=lambda what, done, of: said.append(what))
    assert said[0].startswith("starting again the restore of backup, begun at ")
    assert len(await state(own_client, "/registry")) == expected
    assert await own_client.get(marker_key("/registry")) is None


def object_of(server: ApiServer, name: str) -> dict[str, object]:
    found = ask(server, "GET", f"/api/v1/namespaces/default/configmaps/{name}").json
    found["metadata"].pop("resourceVersion")
    return found


def test_a_servers_objects_come_back_as_they_were(tmp_path: Path) -> None:
    file = tmp_path / "backup"
    with EmbeddedEtcd(loopback=True) as etcd, EmbeddedEtcd(loopback=True) as new:
        with api_server(etcd_servers=etcd.endpoint) as server:
            path = "/api/v1/namespaces/default/configmaps"
            assert ask(server, "POST", path, {"metadata": {"name": "a"}, "data": {"k": "v"}}).status == 201
            kept = object_of(server, "a")
            outcome = run("backup", str(file), f"--etcd-servers={etcd.endpoint}")
            assert outcome.returncode == 0 and " keys as of revision " in outcome.stdout and not told(outcome)
        outcome = run("restore", str(file), f"--etcd-servers={new.endpoint}")
        assert outcome.returncode == 0 and " keys under /registry, at revision " in outcome.stdout
        with api_server(etcd_servers=new.endpoint) as server:
            assert object_of(server, "a") == kept


def test_no_server_starts_on_half_a_restore(tmp_path: Path) -> None:
    with EmbeddedEtcd(loopback=True) as etcd:
        flag = f"--etcd-servers={etcd.endpoint}"
        with api_server(etcd_servers=etcd.endpoint):
            assert run("backup", str(tmp_path / "backup"), flag).returncode == 0
        command = [sys.executable, "-c", HANGING, "restore", str(tmp_path / "backup"), flag, "--replace"]
        killed = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        assert killed.stdout is not None and killed.stdout.readline() == "half\n"
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
        serving = run("serve", flag, "--secure-port=0", f"--cert-dir={tmp_path}/certificates")
        assert serving.returncode == 1
        assert "are incomplete: a restore of backup, begun at" in serving.stderr.splitlines()[-1]
        refused = run("backup", str(tmp_path / "other"), flag)
        assert refused.returncode == 1 and "are incomplete" in refused.stderr
        assert run("restore", str(tmp_path / "backup"), flag).returncode == 0
        with api_server(etcd_servers=etcd.endpoint) as server:
            assert ask(server, "GET", "/api/v1/namespaces/default").status == 200


HANGING = """
import sys, time
from storage.backups import restore
from gateway.commands.cli import main

async def finish(self):
    print("half", flush=True)
    time.sleep(60)

restore._Restoring.finish = finish
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["restore", "none", "--etcd-servers=127.0.0.1:1"], "cannot use none: No such file or directory"),
        (
            ["restore", "pyproject.toml", "--etcd-servers=127.0.0.1:1"],
            "pyproject.toml was not restored: it is not a backup",
        ),
        (["backup", "pyproject.toml"], "pyproject.toml exists already; add --overwrite"),
        (["backup", "/no/such/file", "--etcd-servers=unix:///none"], "etcd at unix:///none does not answer ("),
        (["backup", "x"], "no etcd endpoints are given: add --etcd-servers"),
        (["backup", "x", "--etcd-servers=ftp://a"], "--etcd-servers=ftp://a: give URLs"),
    ],
)
def test_failures_are_one_line(words: Sequence[str], said: str) -> None:
    outcome = run(*words)
    *waited, line = outcome.stderr.splitlines()
    assert not waited or waited == ["waiting for etcd at unix:///none to answer"]
    assert outcome.returncode == 1 and line.startswith(f"apiserver-gateway: {said}"), line


def test_a_backup_of_nothing_fails_and_leaves_no_file(tmp_path: Path, etcd_endpoint: str) -> None:
    outcome = run("backup", str(tmp_path / "none"), f"--etcd-servers={etcd_endpoint}", "--etcd-prefix=/nothing")
    assert outcome.returncode == 1 and "there are no keys under /nothing: nothing was backed up" in outcome.stderr
    assert not list(tmp_path.iterdir())


def test_a_silent_etcd_is_named_at_once_and_waited_for_in_vain(tmp_path: Path) -> None:
    """The command says what it waits for, then prints one line that says what to do. It leaves no file."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        where = f"http://127.0.0.1:{silent.getsockname()[1]}"
        outcome = run("backup", str(tmp_path / "none"), f"--etcd-servers={where}")
    waits, fails = outcome.stderr.splitlines()
    assert waits == f"waiting for etcd at {where} to answer"
    assert outcome.returncode == 1 and f"etcd at {where} does not answer (" in fails
    assert fails.endswith(
        "): check that etcd runs, or give other endpoints with --etcd-servers, and run the command again"
    )
    assert not list(tmp_path.iterdir())


def test_a_backup_that_is_told_to_stop_leaves_no_file(tmp_path: Path, etcd_endpoint: str) -> None:
    command = [sys.executable, "-c", READING, "backup", str(tmp_path / "backup"), f"--etcd-servers={etcd_endpoint}"]
    with subprocess.Popen(command, stdout=PIPE, stderr=PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None and process.stdout.readline() == "reading\n"
        assert len(list(tmp_path.iterdir())) == 1
        process.terminate()
        said = process.communicate()[1]
    assert process.returncode == 1 and "the command was stopped before it was done: run it again" in said
    assert not list(tmp_path.iterdir())


READING = """
import asyncio, sys
from storage.backups import take
from gateway.commands.cli import main

async def reading(*given):
    print("reading", flush=True)
    await asyncio.Event().wait()

take._copy = reading
sys.exit(main(sys.argv[1:]))
"""


async def test_a_file_is_described(tmp_path: Path, etcd_endpoint: str, etcd_client: EtcdClient) -> None:
    file = tmp_path / "backup"
    await etcd_client.put(b"/one-key/a", b"{}")
    assert run("backup", str(file), f"--etcd-servers={etcd_endpoint}", "--etcd-prefix=/one-key").returncode == 0
    outcome = run("restore", "--check", str(file))
    assert outcome.returncode == 0 and f"{file}: 1 keys (3 bytes) under /one-key as of revision" in outcome.stdout
    file.write_bytes(file.read_bytes()[:-1])
    cut = run("restore", "--check", str(file))
    assert cut.returncode == 1 and "it is damaged or was changed" in cut.stderr and not cut.stdout


async def test_what_is_in_another_etcd_is_named(tmp_path: Path, etcd_endpoint: str, etcd_client: EtcdClient) -> None:
    await etcd_client.put(b"/two-etcds/a", b"{}")
    flags = f"--etcd-servers={etcd_endpoint}", "--etcd-prefix=/two-etcds"
    outcome = run("backup", str(tmp_path / "b"), *flags, "--etcd-servers-overrides=/events#http://a:1;http://b:2")
    assert outcome.returncode == 0 and told(outcome).startswith("/events is in another etcd")
    assert outcome.stderr.endswith("not backed up: run the command again with --etcd-servers=http://a:1,http://b:2\n")


async def _holds_a_key(endpoint: str) -> None:
    async with EtcdClient(EtcdSettings((endpoint,), timeout=60)) as client:
        await client.put(b"/registry/a", b"{}")


async def test_what_is_of_control_planes_is_named(
    tmp_path: Path, etcd_endpoint: str, etcd_client: EtcdClient, prefix: bytes
) -> None:
    root, path = prefix.decode().rstrip("/"), tmp_path / "backup"
    await fill(etcd_client, root, 3)
    words = "backup", str(path), f"--etcd-servers={etcd_endpoint}", f"--etcd-prefix={root}", "--overwrite"
    assert "control planes" not in (await asyncio.to_thread(run, *words)).stderr
    await etcd_client.put(f"{root}-clusters/uid/apiserver-gateway/made".encode(), b"x")
    outcome = await asyncio.to_thread(run, *words)
    assert (
        outcome.returncode == 0
        and f"the keys of control planes below /clusters (1) are not in {path}" in outcome.stderr
    )
    assert verify(path).keys == 3


def test_an_etcd_with_users(tmp_path: Path) -> None:
    """With the flags of `serve`, also from a configuration file. A refusal names the flags to check."""
    with EmbeddedEtcd(loopback=True) as etcd:
        asyncio.run(_holds_a_key(etcd.endpoint))
        enable_users(etcd)
        (config := tmp_path / "serve.yaml").write_text(
            f"etcd-servers: {etcd.endpoint}\netcd-username: root\netcd-password: root\nsecure-port: 1\ndata-dir: /x\n"
        )
        assert run("backup", str(tmp_path / "backup"), f"--config={config}").returncode == 0
        assert run("restore", str(tmp_path / "backup"), f"--config={config}", "--replace").returncode == 0
        wrong = run("backup", str(tmp_path / "other"), f"--config={config}", "--etcd-password=wrong")
    assert wrong.returncode == 1 and "see --etcd-username and --etcd-password" in wrong.stderr


async def test_an_etcd_with_tls(tmp_path: Path) -> None:
    """A backup and a restore with a client certificate. One line says what is missing or wrong."""
    with mutual_tls(tmp_path) as (etcd, ca, cert, key):
        trusting = [f"--etcd-servers={etcd.endpoint}", f"--etcd-cafile={ca}"]
        flags = [*trusting, f"--etcd-certfile={cert}", f"--etcd-keyfile={key}"]
        async with EtcdClient(EtcdSettings((etcd.endpoint,), ca, cert, key, timeout=60)) as client:
            await fill(client, "/registry", 20)
            before = await state(client, "/registry")
            taken = await asyncio.to_thread(run, "backup", f"{tmp_path}/backup", *flags)
            assert taken.returncode == 0, taken.stderr
            restored = await asyncio.to_thread(run, "restore", f"{tmp_path}/backup", *flags, "--etcd-prefix=/other")
            assert restored.returncode == 0, restored.stderr
            after = await state(client, "/other")
        assert {key.replace(b"/other", b"/registry", 1): value for key, value in after.items()} == before
        without = await asyncio.to_thread(run, "backup", f"{tmp_path}/2", *trusting)
        plain = await asyncio.to_thread(run, "backup", f"{tmp_path}/2", trusting[0].replace("https", "http"))
    for outcome, said in ((without, "requires a client certificate"), (plain, "speaks TLS")):
        assert outcome.returncode == 1 and said in outcome.stderr.splitlines()[-1]
