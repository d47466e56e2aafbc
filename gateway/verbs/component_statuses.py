"""componentstatuses: deprecated, not stored; tells whether the storage of this server answers."""

from __future__ import annotations

from gateway.endpoints.endpoint import Endpoint
from gateway.http.exchange import Request, Response
from gateway.http.status import method_not_supported, not_found
from gateway.jsontypes import JsonObject, dump_line
from storage.errors import StorageError


async def list_(endpoint: Endpoint, request: Request) -> Response:
    """A list of the one component that an API server without a scheduler and controllers knows."""
    component = {key: value for key, value in (await _etcd(endpoint)).items() if key not in ("kind", "apiVersion")}
    return Response(
        200, dump_line({"kind": "ComponentStatusList", "apiVersion": "v1", "metadata": {}, "items": [component]})
    )


async def get(endpoint: Endpoint, request: Request) -> Response:
    """One component. Raises StatusError 404."""
    component = await _etcd(endpoint)
    if request.info.name != component["metadata"]["name"]:
        raise not_found("", "componentstatuses", request.info.name)
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
