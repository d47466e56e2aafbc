"""A kopf operator: it watches objects, patches annotations and finalizers, and notices deletions."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import kopf
import pytest
from lightkube import Client, KubeConfig
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import ConfigMap, Namespace

from apiserver_gateway.testing import ApiServer
from tests.clients.kopf_operator import PATIENCE, running

FINALIZER = "kopf.zalando.org/KopfFinalizerMarker"


@pytest.fixture
def client(server: ApiServer, namespace: str) -> Client:
    """A client in a new namespace."""
    made = Client(KubeConfig.from_file(str(server.kubeconfig)), namespace=namespace)
    made.create(Namespace(metadata=ObjectMeta(name=namespace)))
    return made


@pytest.fixture
def deleted() -> Future[str]:
    """The name of the deleted object, as the operator has seen it."""
    return Future()


@pytest.fixture
def operator(server: ApiServer, client: Client, namespace: str, deleted: Future[str]) -> Iterator[None]:
    """An operator, in a thread, that copies the colour in a ConfigMap into an annotation."""
    registry = kopf.OperatorRegistry()

    @kopf.on.create("configmaps", registry=registry, labels={"coloured": "yes"})
    @kopf.on.update("configmaps", registry=registry, labels={"coloured": "yes"}, field="data.colour")
    def colour(body: kopf.Body, patch: kopf.Patch, **_: Any) -> None:
        patch.metadata.annotations["example.com/colour"] = body["data"]["colour"]

    @kopf.on.delete("configmaps", registry=registry, labels={"coloured": "yes"})
    def gone(name: str, **_: Any) -> None:
        deleted.set_result(name)

    with running(server, registry, namespace):
        yield


@pytest.mark.usefixtures("operator")
def test_an_operator_reacts(client: Client, deleted: Future[str]) -> None:
    made = ConfigMap(metadata=ObjectMeta(name="paint", labels={"coloured": "yes"}), data={"colour": "blue"})
    client.create(made)
    watching = client.watch(ConfigMap, server_timeout=PATIENCE)
    assert _annotated(watching, "blue").metadata.finalizers == [FINALIZER]  # type: ignore[union-attr]  # it has some
    client.patch(ConfigMap, "paint", {"data": {"colour": "red"}})
    _annotated(watching, "red")
    client.delete(ConfigMap, "paint")
    assert deleted.result(PATIENCE) == "paint"
    assert any(event == "DELETED" for event, _ in watching)  # once the operator has removed its finalizer


def _annotated(watching: Iterator[tuple[str, ConfigMap]], colour: str) -> ConfigMap:
    """The first state with the annotation. The watch has a timeout."""
    for _, found in watching:
        metadata = found.metadata
        if metadata and metadata.annotations and metadata.annotations.get("example.com/colour") == colour:
            return found
    pytest.fail(f"the operator never wrote {colour}")
