"""A control plane is copied in bounded memory."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Callable
from typing import Any, cast

import pytest

from gateway.clusters import template_copy
from gateway.clusters.template_copy import TooMuch, copy_of
from gateway.clusters.templates import ClusterTemplate
from storage.errors import StorageError
from storage.etcd import EtcdClient, KeyValue, RangeResult
from storage.pages import FIRST, MOST

ROOT = b"/clusters/uid/"
OBJECT = b'{"metadata":{"uid":"e1b7c6a0-2f3d-4a7b-8a11-0c9d8e7f6a5b"}}'


class _Etcd:
    """A client for many objects below a root, in pages."""

    def __init__(self, below: bytes, number: int) -> None:
        self.kvs = [KeyValue(ROOT + below + b"%06d" % each, OBJECT, 1, 1, 1) for each in range(number)]
        self.read = 0

    async def range(self, key: bytes, end: bytes, *, limit: int, revision: int) -> RangeResult:
        found = [kv for kv in self.kvs if key <= kv.key < end]
        self.read += len(found[:limit])
        return RangeResult(found[:limit], 7, len(found), len(found) > limit)

    async def stream(self, key: bytes, end: bytes, *, revision: int) -> AsyncGenerator[list[KeyValue]]:
        raise StorageError("unknown method RangeStream")
        yield []


async def test_no_more_is_read_than_a_template_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    etcd = _Etcd(b"configmaps/n/", 100_000)
    monkeypatch.setattr(template_copy, "MOST", 10_000)
    with pytest.raises(TooMuch):
        await copy_of(cast(EtcdClient, etcd), ROOT)
    assert etcd.read <= FIRST + 2 * MOST  # the next page is read while one is processed


async def test_what_is_left_out_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template_copy, "MOST", 10_000)
    assert not (await copy_of(cast(EtcdClient, _Etcd(b"events/n/", 3_000)), ROOT)).keys


async def test_a_template_is_made_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """It can be stored and used without work that would hold all requests."""
    where = set[bool]()

    def counted(func: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def run(self: Any) -> Any:
            where.add(threading.current_thread() is threading.main_thread())
            return func(self)

        return run

    for name in ("packed", "digest", "pieces"):
        monkeypatch.setattr(vars(ClusterTemplate)[name], "func", counted(vars(ClusterTemplate)[name].func))
    template = await copy_of(cast(EtcdClient, _Etcd(b"configmaps/n/", 3)), ROOT)
    assert template.packed and template.digest and len(template.pieces) == 3
    assert where == {False}
