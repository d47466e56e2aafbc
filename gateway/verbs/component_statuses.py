"""componentstatuses: deprecated, not stored; tells whether the storage of this server answers."""

from __future__ import annotations

from gateway.encodings.list_meta import ListMeta
from gateway.endpoints.endpoint import Endpoint
from gateway.http.exchange import Request, Response
from gateway.http.status import method_not_supported, not_found
from gateway.jsontypes import JsonObject, dump_line, dumps
from gateway.reading.list_options import list_options
from storage.entry import Attributes, Entry
from storage.errors import StorageError


async def list_(endpoint: Endpoint, request: Request) -> Response:
    """A list of the one component that an API server without a scheduler and controllers knows.

    Raises StatusError 400 and 422 for options that no list takes.
    """
    match = list_options(request, endpoint.selectable, watch=False).match
    component = await _etcd(endpoint)
    name = component["metadata"]["name"]
    selected = match is None or match(Attributes({}, {"metadata.name": name, "metadata.namespace": ""}))
    members = {key: value for key, value in component.items() if key not in ("kind", "apiVersion")}
    if request.representation.transform is None:
        items = [members] if selected else []
        return Response(
            200, dump_line({"kind": "ComponentStatusList", "apiVersion": "v1", "metadata": {}, "items": items})
        )
    encoder = endpoint.encoder(request.representation)
    entries = [Entry(b"", endpoint.head, dumps(members)[1:], 0)] if selected else []
    made = encoder.list(ListMeta(0), [encoder.items(entries, first=True)] if entries else [], len(entries))
    return Response(200, b"".join(made), encoder.content_type, encoded=True)


async def get(endpoint: Endpoint, request: Request) -> Response:
    """One component. Raises StatusError 404."""
    component = await _etcd(endpoint)
    if request.info.name != component["metadata"]["name"]:
        raise not_found("", "componentstatus", request.info.name)
    return Response(200, dump_line(component))


async def watch(endpoint: Endpoint, request: Request) -> Response:
    """There is nothing to watch. Raises StatusError 405."""
    raise method_not_supported("", "componentstatuses", "watch")


async def _etcd(endpoint: Endpoint) -> JsonObject:
    condition = {"type": "Healthy", "status": "True", "message": "ok"}
    try:
        await endpoint.services.client.revision()
    except StorageError as error:
        condition = {"type": "Healthy", "status": "False", "message": str(error), "error": str(error)}
    return {
        "kind": "ComponentStatus",
        "apiVersion": "v1",
        "metadata": {"name": "etcd-0"},
        "conditions": [condition],
    }
