"""What is told of objects that cannot be read: in 1.37 their keys, in 1.36 only why."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer
from storage.embedded import EmbeddedEtcd
from storage.etcd import EtcdClient, EtcdSettings
from tests.forked import api_server
from tests.integration.encryption.etcd import IDENTITY, by_key, configured
from tests.integration.server.client import ask

MAPS = "/api/v1/namespaces/default/configmaps"
SECRETS = "/api/v1/namespaces/default/secrets"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
UNDECRYPTED = "no matching prefix found"
STORAGE = "StorageError: corrupt object, Code: 7, Key: {}, ResourceVersion: 0, AdditionalErrorMsg: {}"


@pytest.fixture(scope="module")
def etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedEtcd]:
    """An etcd with two encrypted secrets, 101 values that are not ConfigMaps, and one that is not a Deployment."""
    with EmbeddedEtcd() as running:
        path = configured(tmp_path_factory.mktemp("keys") / "e.json", by_key("secretbox", "a"), IDENTITY)
        with serving(running, "1.37", f"--encryption-provider-config={path}") as server:
            for name in ("one", "two"):
                assert ask(server, "POST", SECRETS, {"metadata": {"name": name}}).status == 201
        asyncio.run(_spoil(running.endpoint))
        yield running


async def _spoil(endpoint: str) -> None:
    async with EtcdClient(EtcdSettings((endpoint,), timeout=60)) as client:
        for number in range(101):
            await client.put(b"/registry/configmaps/default/m%03d" % number, b"?")
        await client.put(b"/registry/deployments/default/d", b"?")


@contextmanager
def serving(etcd: EmbeddedEtcd, minor: str, *flags: str) -> Iterator[ApiServer]:
    with api_server("--controllers=-*", f"--kubernetes-version={minor}", *flags, etcd_servers=etcd.endpoint) as server:
        yield server


def keyless(directory: Path) -> str:
    """The flag for a configuration without the key of the secrets."""
    return f"--encryption-provider-config={configured(directory / 'e.json', IDENTITY)}"


def refusal(server: ApiServer, method: str, path: str, body: Any = None) -> dict[str, Any]:
    answer = ask(server, method, path, body)
    assert answer.status == 500, answer.body
    found: dict[str, Any] = answer.json
    return found


def test_1_37_names_the_keys_of_what_it_cannot_read(etcd: EmbeddedEtcd, tmp_path: Path) -> None:
    with serving(etcd, "1.37", keyless(tmp_path)) as server:
        inner = f"data from the storage is not transformable revision=0: {UNDECRYPTED}"
        one = refusal(server, "GET", f"{SECRETS}/one")
        text = STORAGE.format("/secrets/default/one", inner)
        assert (one["reason"], one["message"]) == ("InternalError", f"Internal error occurred: {text}")
        every = refusal(server, "GET", SECRETS)
        texts = {
            key: STORAGE.format(key, inner) for key in (f"/registry/secrets/default/{each}" for each in ("one", "two"))
        }
        first = next(iter(texts.values()))
        assert every["reason"] == "StorageReadError"
        assert every["message"] == f"failed to read one or more secrets from the storage: {first} (and 1 more)"
        causes = [{"reason": "UnexpectedServerResponse", "message": each, "field": key} for key, each in texts.items()]
        assert every["details"] == {"name": "list", "kind": "secrets", "causes": causes}
        assert refusal(server, "DELETE", SECRETS) == every


def test_1_37_names_at_most_a_hundred_keys(etcd: EmbeddedEtcd) -> None:
    with serving(etcd, "1.37") as server:
        told = refusal(server, "GET", MAPS)
        assert told["message"].endswith(" (and 99 more)")
        causes = told["details"]["causes"]
        assert len(causes) == 101
        assert causes[-1] == {"reason": "FieldValueTooMany", "message": "too many errors, the list is truncated"}
        told = refusal(server, "GET", "/apis/apps/v1/deployments")
        assert told["message"].startswith(
            "failed to read one or more deployments.apps from the storage: StorageError: "
        )
        assert told["details"]["group"] == "apps"


def test_1_36_tells_why_it_cannot_read(etcd: EmbeddedEtcd, tmp_path: Path) -> None:
    with serving(etcd, "1.36", keyless(tmp_path)) as server:
        one = refusal(server, "GET", f"{SECRETS}/one")
        assert (one["reason"], one["message"]) == ("InternalError", f"Internal error occurred: {UNDECRYPTED}")
        text = f'unable to transform key "/registry/secrets/default/one": {UNDECRYPTED}'
        assert refusal(server, "GET", SECRETS)["message"] == f"Internal error occurred: {text}"
        assert "StorageError" not in refusal(server, "GET", f"{DEPLOYMENTS}/d")["message"]
