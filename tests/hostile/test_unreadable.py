"""Unreadable values in etcd, under every key that a server reads by itself, neither prevent a start nor end a process.

An exception is the marker of an incomplete restore (storage/backups/marker.py), whose purpose is to prevent a start.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

import pytest

from apiserver_gateway.testing import ApiServer, api_server
from storage.embedded import EmbeddedEtcd
from storage.etcd import EtcdClient, EtcdSettings
from tests.hostile.probe import is_alive
from tests.integration.customresources.definitions import definition, establish
from tests.integration.server.client import ask
from tests.stalls import MARK
from tests.until import until

T = TypeVar("T")

TOGETHER = 2  # servers
ROOT = "/registry/"
# keys that a server reads besides the objects that it has written itself
MORE = (
    "ranges/servicenodeports",
    "ranges/serviceips",
    "masterleases/10.9.9.9",
    "masterleases/127.0.0.1",
    "services/endpoints/default/kubernetes",
    "endpointslices/default/kubernetes",
    "services/specs/default/other",
    "ipaddresses/10.0.0.9",
    "servicecidrs/kubernetes",
    "leases/kube-system/apiserver-gateway-controllers",
    "leases/kube-system/kube-controller-manager",
    "secrets/kube-system/bootstrap-token-abcdef",
    "serviceaccounts/default/default",
    "serviceaccounts/kube-system/namespace-controller",
    "resourcequotas/default/all",
    "limitranges/default/all",
    "priorityclasses/other",
    "storageclasses/other",
    "runtimeclasses/other",
    "ingressclasses/other",
    "mutatingwebhookconfigurations/all",
    "validatingwebhookconfigurations/all",
    "validatingadmissionpolicies/all",
    "validatingadmissionpolicybindings/all",
    "mutatingadmissionpolicies/all",
    "mutatingadmissionpolicybindings/all",
    "certificatesigningrequests/other",
    "pods/default/other",
    "minions/other",
    "namespaces/other",
    "persistentvolumes/other",
    "persistentvolumeclaims/default/other",
    "deviceclasses/other",
    "apiextensions.k8s.io/customresourcedefinitions/others.example.com",
    "apiregistration.k8s.io/apiservices/v9.example.com",
    "wrong.example.com/widgets/default/other",
    "no-such-thing/other",
    "no-slash",
)
OWN = ("compact_rev_key",)  # without the prefix
WRONG: dict[str, bytes] = {
    "nothing": b"",
    "a zero": b"\0",
    "no UTF-8": b"\xff\xfe\xfd",
    "null": b"null",
    "a number": b"17",
    "a large number": b"9" * 5000,
    "a text": b'"text"',
    "a list": b"[]",
    "an empty object": b"{}",
    "half an object": b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"',
    "members of wrong types": b'{"kind":1,"apiVersion":[],"metadata":"x","spec":7,"status":[],"data":5,"range":{}}',
    "nulls": b'{"kind":null,"apiVersion":null,"metadata":null,"spec":null,"status":null,"data":null,"range":null}',
    "metadata of wrong types": b'{"kind":"Pod","apiVersion":"v1","metadata":{"uid":1,"labels":7,"finalizers":{}}}',
    "deep": b'{"metadata":' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    "protobuf of nothing": b"k8s\0",
    "protobuf that is cut": b"k8s\0\n\x0b\n\x02v1\x12\x05Secret\x12\xff\xff\xff\xff\x0f",
    "encrypted": b"k8s:enc:aescbc:v1:key1:\x17\x93\0\xff" * 9,
}

pytestmark = getattr(pytest.mark, MARK)("starts read 50 kB of brackets many times")


World = tuple[EmbeddedEtcd, ApiServer]


@pytest.fixture(scope="module")
def worlds() -> Iterator[list[World]]:
    """Two servers, each with its own etcd, so that the waits of both can overlap."""
    with ExitStack() as stack:
        yield [stack.enter_context(_world()) for _ in range(TOGETHER)]


@contextmanager
def _world() -> Iterator[World]:
    with EmbeddedEtcd() as etcd, api_server(etcd_servers=etcd.endpoint) as running:
        establish(running, definition("wrong.example.com"))
        port = {"spec": {"type": "NodePort", "ports": [{"port": 1}]}, "metadata": {"name": "a"}}
        assert ask(running, "POST", "/api/v1/namespaces/default/services", port).status == 201
        yield etcd, running


async def _overwrite(endpoint: str, value: bytes) -> dict[bytes, bytes]:
    """Replaces the values of all keys that servers read. Returns the old values."""
    async with EtcdClient(EtcdSettings((endpoint,), timeout=60)) as client:
        there = {kv.key: kv.value for kv in (await client.range(ROOT.encode(), b"/registry0")).kvs}
        keys = {*there, *(f"{ROOT}{key}".encode() for key in MORE), *map(str.encode, OWN)}
        for key in sorted(keys):
            await client.put(key, value)
    return there


async def _put_back(endpoint: str, values: dict[bytes, bytes]) -> None:
    async with EtcdClient(EtcdSettings((endpoint,), timeout=60)) as client:
        for kv in (await client.range(b"\0", b"\0")).kvs:
            if kv.key not in values:
                await client.delete(kv.key)
        for key, value in values.items():
            await client.put(key, value)


def _goes_on(server: ApiServer) -> None:
    """The server runs, and answers requests about objects that are not stored, or can be read."""
    assert is_alive(server)
    until(lambda: ask(server, "GET", "/readyz").status == 200)
    assert ask(server, "GET", "/apis").status == 200
    with ThreadPoolExecutor(8) as pool:  # a request for a replaced value is an error, and does not end the server
        for status in pool.map(lambda path: ask(server, "GET", path).status, ASKED):
            assert status in (200, 403, 404, 500, 503)
    for path in ("/api/v1/namespaces/default/services", "/api/v1/namespaces/default/configmaps"):
        body: dict[str, Any] = {"metadata": {"generateName": "b"}}
        if path.endswith("services"):
            body["spec"] = {"type": "NodePort", "ports": [{"port": 1}]}
        assert ask(server, "POST", path, body).status in (201, 403, 404, 500, 503)
    assert is_alive(server)


ASKED = (
    "/api/v1/namespaces",
    "/api/v1/namespaces/default",
    "/api/v1/services",
    "/api/v1/nodes",
    "/api/v1/pods",
    "/api/v1/secrets",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "/apis/apiregistration.k8s.io/v1/apiservices",
    "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
    "/apis/wrong.example.com/v1/widgets",
    "/openapi/v2",
    "/openapi/v3",
)


NAMES = list(WRONG)


@pytest.mark.parametrize(
    "wrong", [NAMES[at : at + TOGETHER] for at in range(0, len(NAMES), TOGETHER)], ids=" and ".join
)
def test_an_unreadable_value_ends_neither_a_process_nor_a_start(worlds: list[World], wrong: list[str]) -> None:
    concerned = worlds[: len(wrong)]
    endpoints = [etcd.endpoint for etcd, _ in concerned]
    before = asyncio.run(
        _all(_overwrite(*each) for each in zip(endpoints, [WRONG[each] for each in wrong], strict=True))
    )
    try:
        time.sleep(1.5)  # for loops that look at intervals: nothing shows when they have looked
        with ThreadPoolExecutor(TOGETHER) as pool:
            for failed in [pool.submit(_outlives, server) for _, server in concerned]:
                failed.result()
    finally:
        asyncio.run(_all(_put_back(*each) for each in zip(endpoints, before, strict=True)))
        for _, server in concerned:
            if not is_alive(server):
                server.kill()
                server.start()


async def _all(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    return await asyncio.gather(*work)


def _outlives(server: ApiServer) -> None:
    """The server continues to run, and starts again."""
    _goes_on(server)
    server.kill()
    server.start()
    time.sleep(0.5)  # for loops that look at intervals
    _goes_on(server)
