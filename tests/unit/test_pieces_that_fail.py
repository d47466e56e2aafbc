"""Loops that serve many continue after an unforeseen error in one piece, and log it."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import patch

import pytest
from grpc.aio import Metadata

from gateway.audit import rotation
from gateway.audit.rotation import Keeping, RotatedFile
from gateway.encryption.encryption import Encryption
from gateway.encryption.kms import provider
from gateway.encryption.kms.provider import KmsProvider
from gateway.encryption.kms.service import KmsError, KmsService
from gateway.encryption.resources import KeyResources
from gateway.observability.watchdog import Watchdog
from storage.embedded.member import EmbeddedEtcd
from storage.embedded.supervision import Supervised
from storage.errors import StorageError
from storage.etcd import KeyEvent
from storage.etcd.endpoints import Endpoints, EtcdEndpoint
from storage.etcd.generated import kv_pb2, rpc_pb2
from storage.etcd.results import KeyValue
from storage.etcd.transformer import TransformingKV
from storage.etcd.watch_stream import EtcdWatchStream
from storage.values import UnreadableValue


class Failing:
    """A transformer that fails for one key."""

    def concerns(self, key: bytes) -> bool:
        return True

    async def out(self, key: bytes, value: bytes) -> bytes:
        return value

    async def into(self, key: bytes, value: bytes) -> bytes:
        if key == b"bad":
            raise ValueError("unforeseen")
        return value


async def test_a_value_that_cannot_be_transformed_is_unreadable_alone(caplog: pytest.LogCaptureFixture) -> None:
    kv = TransformingKV(cast(Endpoints, SimpleNamespace(call=None)), Failing())
    events = [KeyEvent("PUT", KeyValue(key, b"v", 1, 1, 1), None) for key in (b"a", b"bad", b"b")]
    found = [event.kv.value for event in await kv.events(events)]
    assert found == [b"v", b"v", b"v"]
    assert [isinstance(value, UnreadableValue) for value in found] == [False, True, False]
    assert cast(UnreadableValue, found[1]).reason == "Internal error occurred: unforeseen"
    assert "a stored value could not be transformed" in caplog.text


class Call:
    """An etcd watch stream that delivers one message."""

    def __init__(self) -> None:
        changed = kv_pb2.Event(kv=kv_pb2.KeyValue(key=b"k", mod_revision=1))
        self._messages = [rpc_pb2.WatchResponse(watch_id=1, events=[changed])]

    async def read(self) -> rpc_pb2.WatchResponse:
        if not self._messages:
            await asyncio.Event().wait()
        return self._messages.pop()

    async def write(self, request: rpc_pb2.WatchRequest) -> None:
        raise ValueError("unforeseen")

    def cancel(self) -> None:
        pass


@pytest.mark.parametrize("how", ["read", "written"])
async def test_watches_are_told_of_a_message_that_fails(how: str, caplog: pytest.LogCaptureFixture) -> None:
    """Without the error, the watches would wait for ever, and the cache would not change."""

    async def transform(events: list[KeyEvent]) -> list[KeyEvent]:
        if how == "read":
            raise ValueError("unforeseen")
        await asyncio.Event().wait()
        return events

    failed: asyncio.Future[StorageError] = asyncio.get_running_loop().create_future()
    endpoint = cast(EtcdEndpoint, SimpleNamespace(watch=SimpleNamespace(Watch=lambda _, metadata: Call())))
    stream = EtcdWatchStream(endpoint, Metadata(), transform)
    receiver = SimpleNamespace(failed=lambda error: failed.done() or failed.set_result(error))
    if how == "written":
        stream.add(cast(Any, receiver), rpc_pb2.WatchCreateRequest())
    else:
        stream._receivers[1] = cast(Any, receiver)
    async with asyncio.timeout(60):
        assert f"a message of the watch could not be {how}: unforeseen" in str(await failed)
    assert stream.broken
    assert f"a message of a watch on etcd could not be {how}" in caplog.text
    assert "a message of a watch on etcd could not be" in caplog.text


async def test_whatever_goes_wrong_in_a_call_of_a_plugin_is_its_error() -> None:
    service = KmsService("mock", "/none", 1)
    service._calls["Status"] = lambda request, timeout: (_ for _ in ()).throw(RuntimeError("unforeseen"))
    with pytest.raises(KmsError, match="code = Internal desc = RuntimeError: unforeseen"):
        await service.status()
    await service.close()


async def test_a_plugin_is_looked_at_and_asked_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Without this the plug-in's key would expire, and its values could never be decrypted again."""
    monkeypatch.setattr(provider, "ILL_INTERVAL", 0.0)
    monkeypatch.setattr(provider, "BETWEEN_CALLS", 0.0)
    monkeypatch.setattr(provider, "_TOLD_AFTER", (0.0,))
    looked, back = asyncio.Event(), asyncio.Event()
    plugin = KmsProvider(KmsService("mock", "/none", 1), "here", back.set)
    outcomes = [ValueError("unforeseen"), ""]

    async def look(_: KmsProvider) -> str:
        if isinstance(outcome := outcomes.pop(0), ValueError):
            raise outcome
        looked.set()
        return outcome

    asked = [ValueError("unforeseen"), b"secret"]

    async def decrypt(_: object) -> object:
        if isinstance(outcome := asked.pop(0), ValueError):
            raise outcome
        return outcome

    monkeypatch.setattr(KmsProvider, "look", look)
    monkeypatch.setattr(plugin, "_ask_for", decrypt)
    plugin._away = "it hangs"
    tasks = [asyncio.create_task(plugin.watch()), asyncio.create_task(plugin._ask_again(cast(Any, None)))]
    async with asyncio.timeout(60):
        await looked.wait()
        await back.wait()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert caplog.text.count("the kms plugin check failed") == 2
    await plugin.close()


async def test_a_configuration_that_fails_does_not_keep_the_next_one_from_being_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "e.yaml"
    path.write_text(
        "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\n"
        "resources:\n- resources: [secrets]\n  providers:\n  - identity: {}\n"
    )
    encryption = Encryption(path, KeyResources(b"/registry/", {}), "here")
    taken: list[object] = []

    async def replace(rules: object) -> None:
        taken.append(rules)
        if len(taken) == 1:
            encryption._wanted = encryption._wanted or ()
            raise ValueError("unforeseen")
        encryption._wanted = None

    with patch.object(encryption, "_replace", replace):
        encryption._wanted = ()
        await encryption._replace_in_order()
    assert len(taken) == 2
    assert "--encryption-provider-config changed and cannot be used: unforeseen" in caplog.text


def test_a_file_of_the_audit_log_that_fails_does_not_keep_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for second in range(3):
        (tmp_path / f"audit-2026-01-01T00-00-0{second}.000.log").write_bytes(b"x")
    pack, packed = rotation._pack, list[str]()

    def failing(path: Path) -> None:
        if "00-01" in path.name:
            raise ValueError("unforeseen")
        pack(path)
        packed.append(path.name)

    with patch.object(rotation, "_pack", failing):
        RotatedFile(tmp_path / "audit.log", Keeping(compress=True))._tidy_up()
    assert len(packed) == 2
    assert "an old file of the audit log could not be compressed or deleted" in caplog.text


def test_the_watchdog_goes_on(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    looked, again = threading.Event(), threading.Event()

    def places(watchdog: Watchdog) -> str:
        if not looked.is_set():
            looked.set()
            raise ValueError("unforeseen")
        again.set()
        return "somewhere"

    monkeypatch.setattr(Watchdog, "_places", places)
    watchdog = Watchdog()
    watchdog._at -= 60
    watchdog._computed -= 60
    watchdog.start()
    assert looked.wait(60)
    while not again.is_set():
        watchdog._noted = ""
    watchdog.stop()
    assert "the stack of the blocked event loop could not be read" in caplog.text


def test_an_etcd_that_cannot_be_watched_over_is_lost(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    lost: list[str] = []
    told = threading.Event()
    etcd = EmbeddedEtcd(tmp_path)
    with patch.object(etcd, "wait", side_effect=ValueError("unforeseen")):
        Supervised(etcd, lambda why: (lost.append(why), told.set()))
        assert told.wait(60)
    assert lost == ["it cannot be supervised: unforeseen"]
    assert "the embedded etcd cannot be supervised" in caplog.text
