"""lightkube: create, list, watch, apply, patch and wait."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lightkube import ApiError, Client, KubeConfig
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import ConfigMap, Namespace
from lightkube.types import PatchType

from apiserver_gateway.testing import ApiServer


@pytest.fixture
def lightkube(server: ApiServer, namespace: str) -> Iterator[Client]:
    """A client in a new namespace."""
    client = Client(KubeConfig.from_file(str(server.kubeconfig)), namespace=namespace, field_manager="tests")
    client.create(Namespace(metadata=ObjectMeta(name=namespace)))
    yield client


def config_map(name: str, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name), data=data)


def test_create_list_and_delete(lightkube: Client) -> None:
    for number in range(7):
        lightkube.create(config_map(f"map-{number}"))
    names = [found.metadata.name for found in lightkube.list(ConfigMap, chunk_size=3) if found.metadata]
    assert names == [f"map-{number}" for number in range(7)]
    lightkube.deletecollection(ConfigMap)
    assert list(lightkube.list(ConfigMap)) == []
    with pytest.raises(ApiError) as missing:
        lightkube.get(ConfigMap, "map-0")
    assert missing.value.status.reason == "NotFound"


def test_watch(lightkube: Client) -> None:
    lightkube.create(config_map("one"))
    watching = lightkube.watch(ConfigMap, server_timeout=60)
    assert _short(next(watching)) == ("ADDED", "one")
    lightkube.patch(ConfigMap, "one", {"data": {"colour": "blue"}}, patch_type=PatchType.MERGE)
    assert _short(next(watching)) == ("MODIFIED", "one")
    lightkube.delete(ConfigMap, "one")
    assert _short(next(watching)) == ("DELETED", "one")


def test_apply(lightkube: Client) -> None:
    applied = config_map("one", colour="blue")
    applied.apiVersion, applied.kind = "v1", "ConfigMap"
    lightkube.apply(applied)
    applied.data = {"size": "small"}
    assert lightkube.apply(applied).data == {"size": "small"}


def _short(event: tuple[str, ConfigMap]) -> tuple[str, str | None]:
    kind, found = event
    assert found.metadata is not None
    return kind, found.metadata.name
