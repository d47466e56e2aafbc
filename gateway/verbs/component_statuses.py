"""componentstatuses: deprecated and not stored; they report whether each etcd answers."""

from __future__ import annotations

import asyncio

from gateway.encodings.list_meta import ListMeta
from gateway.endpoints.endpoint import Endpoint
from gateway.http.exchange import Request, Response
from gateway.http.status import method_not_supported, not_found
from gateway.jsontypes import JsonObject, dump_line, dumps
from gateway.reading.list_options import list_options
from storage.entry import Entry, LabelsAndFields
from storage.errors import StorageError
from storage.etcd import EtcdClient


async def list_(endpoint: Endpoint, request: Request) -> Response:
    """A list of the components that an API server without a scheduler and controllers knows.

    Raises StatusError 400 and 422 for options that no list takes.
    """
    match = list_options(request, endpoint.selectable, watch=False).match
    selected = [each for each in await _etcds(endpoint) if match is None or match(_labels_and_fields(each))]
    items = [{key: each[key] for key in each if key not in ("kind", "apiVersion")} for each in selected]
    if request.representation.transform is None:
        return Response(
            200, dump_line({"kind": "ComponentStatusList", "apiVersion": "v1", "metadata": {}, "items": items})
        )
    encoder = endpoint.encoder(request.representation)
    entries = [Entry(b"", endpoint.head, dumps(members)[1:], 0) for members in items]
    made = encoder.list(ListMeta(0), [encoder.items(entries, first=True)] if entries else [], len(entries))
    return Response(200, b"".join(made), encoder.content_type, encoded=True)


async def get(endpoint: Endpoint, request: Request) -> Response:
    """One component. Raises StatusError 404."""
    for component in await _etcds(endpoint):
        if request.info.name == component["metadata"]["name"]:
            return Response(200, dump_line(component))
    raise not_found("", "componentstatus", request.info.name)


async def watch(endpoint: Endpoint, request: Request) -> Response:
    """There is nothing to watch. Raises StatusError 405."""
    raise method_not_supported("", "componentstatuses", "watch")


def _labels_and_fields(component: JsonObject) -> LabelsAndFields:
    return LabelsAndFields({}, {"metadata.name": component["metadata"]["name"], "metadata.namespace": ""})


async def _etcds(endpoint: Endpoint) -> list[JsonObject]:
    clients = [each.client for each in endpoint.services.databases]
    return list(await asyncio.gather(*(_etcd(f"etcd-{number}", client) for number, client in enumerate(clients))))


async def _etcd(name: str, client: EtcdClient) -> JsonObject:
    condition = {"type": "Healthy", "status": "True", "message": "ok"}
    try:
        await client.revision()
    except StorageError as error:
        condition = {"type": "Healthy", "status": "False", "message": str(error), "error": str(error)}
    return {
        "kind": "ComponentStatus",
        "apiVersion": "v1",
        "metadata": {"name": name},
        "conditions": [condition],
    }
