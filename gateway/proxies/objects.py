"""Pods, services and nodes as targets of proxies, and their names in paths."""

from __future__ import annotations

from gateway.endpoints.endpoint import Endpoint
from gateway.http import status
from gateway.http.exchange import Request
from gateway.jsontypes import JsonObject
from gateway.validation.field import go_quote

_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")


async def object_of(endpoint: Endpoint, plural: str, namespace: str, name: str) -> JsonObject:
    """The current state of an object of the core group; callers must not change it. Raises StatusError 404, with the
    request's resource in the message.
    """
    served = endpoint.siblings.of("", "v1", plural)
    entry = await endpoint.store.reads.get(served.cache, served.key(namespace, name))
    if entry is None:
        raise status.not_found("", endpoint.resource.resource, name)
    return served.versions.of(entry).parsed()


async def pod_of(endpoint: Endpoint, request: Request) -> JsonObject:
    """The pod that a path names. Raises StatusError 404."""
    return await object_of(endpoint, "pods", request.info.namespace, request.info.name)


def container_of(pod: JsonObject, asked: str) -> str:
    """The name of the container: `asked`, or that of the pod's only container if `asked` is "". Raises StatusError 400
    for an unknown name, or if the pod has several containers.
    """
    spec, name = pod["spec"], pod["metadata"]["name"]
    names = [each["name"] for key in _CONTAINERS for each in spec.get(key) or ()]
    if asked:
        if asked not in names:
            raise status.bad_request(f"container {asked} is not valid for pod {name}")
        return asked
    containers = list(spec.get("containers") or ())
    if len(containers) != 1:
        choice = f", choose one of: [{' '.join(names)}]" if containers else ""
        raise status.bad_request(f"a container name must be specified for pod {name}{choice}")
    return str(containers[0]["name"])


def scheme_name_port(what: str, text: str) -> tuple[str, str, str]:
    """Splits "[scheme:]name[:port]"; a missing part is "". Raises StatusError 400."""
    parts = text.split(":")
    if len(parts) < 3:
        parts = ["", *parts, ""][:3]
    scheme, name, port = parts[:3]
    if len(parts) > 3 or not name or scheme not in ("", "http", "https"):
        raise status.bad_request(f"invalid {what} request {go_quote(text)}")
    return scheme, name, port
