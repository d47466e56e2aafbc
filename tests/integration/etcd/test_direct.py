"""The calls of most requests go by a line of their own, and by grpcio's channel when there is none."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, NoReturn

import pytest

from storage.embedded import EmbeddedEtcd
from storage.errors import DeadlineExceeded, TooLarge, Unavailable
from storage.etcd import EtcdClient, EtcdSettings
from storage.etcd.line import Line
from tests.integration.crash import crash
from tests.integration.etcd.guarding import certificate


async def connected(client: EtcdClient) -> Line:
    """The line that a client has once it needs one."""
    lines = client._endpoints.current.lines
    if lines.current() is None:
        assert lines._connecting is not None
        await lines._connecting
    line = lines.current()
    assert line is not None
    return line


def without_channel(client: EtcdClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Has calls fail that do not go by the line."""

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise AssertionError("by the channel")

    direct = client._endpoints.current.direct
    monkeypatch.setattr(direct.txn, "_by_channel", refuse)
    monkeypatch.setattr(direct.range, "_by_channel", refuse)


async def write_and_read(client: EtcdClient) -> None:
    created = await client.create(b"k", b"v")
    assert created.succeeded and await client.revision() == created.revision
    lost = await client.create(b"k", b"w")
    assert not lost.succeeded and lost.current is not None and lost.current.value == b"v"
    assert (await client.range(b"k")).kvs == [lost.current] == [await client.get(b"k")]
    assert (await client.update(b"k", b"x" * 30_000, created.revision)).succeeded


async def test_writes_and_reads_of_one_key_go_by_the_line(
    own_client: EtcdClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    await connected(own_client)
    without_channel(own_client, monkeypatch)
    await write_and_read(own_client)


async def test_a_line_is_encrypted_where_the_channel_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ca", "server", "client"):
        certificate(tmp_path, name, "ca")
    files = {"cert-file": "server.pem", "key-file": "server.key", "trusted-ca-file": "ca.pem"}
    arguments = ["--client-cert-auth", *(f"--{flag}={tmp_path / file}" for flag, file in files.items())]
    ca, cert, key = (tmp_path / file for file in ("ca.pem", "client.pem", "client.key"))
    with EmbeddedEtcd(arguments=arguments, loopback=True) as etcd:
        async with EtcdClient(EtcdSettings((etcd.endpoint,), ca, cert, key)) as client:
            await connected(client)
            without_channel(client, monkeypatch)
            await write_and_read(client)


async def test_what_does_not_fit_goes_by_the_channel(own_client: EtcdClient) -> None:
    line = await connected(own_client)
    large = b"x" * 1_000_000
    assert not line.takes(len(large))
    created = await own_client.create(b"k", large)
    assert created.succeeded
    answers = await asyncio.gather(*(own_client.create(b"k", b"x" * 9000) for _ in range(40)))
    assert all(answer.current is not None and answer.current.value == large for answer in answers)
    with pytest.raises(TooLarge):
        await own_client.create(b"l", b"x" * 3_000_000)


async def test_what_etcd_refuses_is_told_alike_by_line_and_channel(own_client: EtcdClient) -> None:
    revision = await own_client.revision()
    errors = []
    for line in (False, True):
        if line:
            await connected(own_client)
        with pytest.raises(Exception) as error:
            await own_client.range(b"k", revision=revision + 1000)
        errors.append((type(error.value), str(error.value)))
    assert errors[0] == errors[1]


async def test_a_line_is_made_anew(own_etcd: EmbeddedEtcd, own_client: EtcdClient) -> None:
    first = await connected(own_client)
    assert (await own_client.create(b"k", b"v")).succeeded
    crash(own_etcd)
    await asyncio.to_thread(own_etcd.start)
    found = await own_client.get(b"k", timeout=10)
    assert found is not None and found.value == b"v"
    while (again := own_client._endpoints.current.lines.current()) is None:
        await own_client.get(b"k")
    assert again is not first


async def test_calls_by_the_line_end_with_the_client(own_etcd: EmbeddedEtcd) -> None:
    client = EtcdClient(EtcdSettings((own_etcd.endpoint,)))
    await connected(client)
    own_etcd.pause()
    try:
        with pytest.raises(DeadlineExceeded):
            await client.create(b"k", b"v", timeout=0.2)
        call = asyncio.ensure_future(client.get(b"k"))
        await asyncio.sleep(0)
        await client.close()
        with pytest.raises(Unavailable):
            await call
    finally:
        own_etcd.resume()
