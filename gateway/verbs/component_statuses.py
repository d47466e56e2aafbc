"""componentstatuses: deprecated and not stored; the health of the scheduler, the controller manager and each etcd.

The first two are asked at their default ports on this machine, as kube-apiserver does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

from gateway.encodings.list_meta import ListMeta
from gateway.endpoints.endpoint import Endpoint
from gateway.http.exchange import Request, Response
from gateway.http.status import method_not_supported, not_found
from gateway.jsontypes import JsonObject, dump_line, dumps
from gateway.outbound.client import Client
from gateway.outbound.errors import CallError
from gateway.outbound.request import OutboundRequest
from gateway.outbound.target import Target
from gateway.outbound.trust import context_of
from gateway.reading.list_options import list_options
from storage.entry import Entry, LabelsAndFields
from storage.errors import StorageError
from storage.etcd import EtcdClient

_SERVERS = {"scheduler": 10259, "controller-manager": 10257}
_PROBE_TIMEOUT, _LARGEST = 20.0, 10 << 10  # the most seconds until an answer, and bytes of it


async def list_(endpoint: Endpoint, request: Request) -> Response:
    """Answers with the list of the components.

    Raises StatusError 400 and 422 for list options that are not valid.
    """
    match = list_options(request, endpoint.selectable, watch=False).match
    components = await asyncio.gather(*(check() for check in _checks(endpoint).values()))
    selected = [each for each in components if match is None or match(_labels_and_fields(each))]
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
    """Answers with one component. Raises StatusError 404."""
    check = _checks(endpoint).get(request.info.name)
    if check is None:
        raise not_found("", "componentstatus", request.info.name)
    return Response(200, dump_line(await check()))


async def watch(endpoint: Endpoint, request: Request) -> Response:
    """Refuses every watch. Raises StatusError 405; 400 and 422 for options that are not valid."""
    list_options(request, endpoint.selectable, watch=True)
    raise method_not_supported("", "componentstatuses", "watch")


def _labels_and_fields(component: JsonObject) -> LabelsAndFields:
    return LabelsAndFields({}, {"metadata.name": component["metadata"]["name"], "metadata.namespace": ""})


def _checks(endpoint: Endpoint) -> dict[str, Callable[[], Awaitable[JsonObject]]]:
    """The health check of each component, by the component's name."""
    services = endpoint.services
    etcds = {f"etcd-{number}": each.client for number, each in enumerate(services.databases)}
    return {
        **{name: partial(_server, name, port, services.outbound) for name, port in _SERVERS.items()},
        **{name: partial(_etcd, name, client) for name, client in etcds.items()},
    }


async def _server(name: str, port: int, outbound: Client) -> JsonObject:
    """Asks a server on this machine for its health. Its certificate is not verified."""
    target = Target("127.0.0.1", port, context_of("", b"", b"", True))
    request = OutboundRequest("GET", "/healthz", ((b"accept", b"*/*"),))
    try:
        answer = await outbound.call(target, request, _PROBE_TIMEOUT, _LARGEST)
    except CallError as error:
        return _component(name, "False", f'Get "https://127.0.0.1:{port}/healthz": {error}')
    text = answer.body.decode("utf-8", "replace")
    if answer.status >= 400:
        return _component(name, "False", f"HTTP probe failed with statuscode: {answer.status}")
    if answer.status >= 300:
        return _component(name, "Unknown", f"Probe terminated redirects, Response body: {text}")
    return _component(name, "True", text)


async def _etcd(name: str, client: EtcdClient) -> JsonObject:
    try:
        await client.revision()
    except StorageError as error:
        return _component(name, "False", str(error), str(error))
    return _component(name, "True", "ok")


def _component(name: str, status: str, message: str, error: str = "") -> JsonObject:
    condition = {"type": "Healthy", "status": status, "message": message, **({"error": error} if error else {})}
    return {"kind": "ComponentStatus", "apiVersion": "v1", "metadata": {"name": name}, "conditions": [condition]}
