"""Reads one object, at least as new as the request's resourceVersion ("Semantics for get and list")."""

from __future__ import annotations

from gateway.endpoints.endpoint import Endpoint
from gateway.http.exchange import Request
from gateway.http.parameters import boolean
from gateway.http.status import bad_request, not_found
from gateway.reading.list_options import parse_resource_version
from gateway.reading.too_large import too_large
from gateway.reading.unreadable import converted
from storage.entry import Entry
from storage.reads import TooLargeRevision


async def read_entry(endpoint: Endpoint, request: Request) -> Entry:
    """The object that a request names. Raises StatusError 400, 404 and 504.

    An invalid resourceVersion raises 500 as in kube-apiserver, or 400 for kinds without a watch cache there (events).
    """
    info, reads = request.info, endpoint.store.reads
    key = endpoint.key(info.namespace, info.name)
    version = version_asked(request) if request.query_string else ""
    if not version:
        entry = await reads.get(endpoint.cache, key)
    else:
        if endpoint.object_strategy.expires:
            revision = parse_resource_version(version, "invalid resource version: ", 400, "BadRequest")
        else:
            revision = parse_resource_version(version)
        try:
            cached = not revision or await reads.not_older_than(revision)
        except TooLargeRevision as error:
            raise too_large(error) from None
        entry = endpoint.cache.get(key) if cached else await reads.get_direct(endpoint.cache, key)
    if entry is None:
        raise not_found(endpoint.resource.group, endpoint.resource.resource, info.name)
    if not endpoint.versions.converts:
        return entry
    return await converted(endpoint, key, entry.revision, endpoint.versions.one(entry))


def version_asked(request: Request) -> str:
    """The request's resourceVersion; "" without one. Raises StatusError 400 for the removed parameter `export`."""
    if (export := request.query.get("export")) and boolean(export[0]):
        raise bad_request("the export parameter, deprecated since v1.14, is no longer supported")
    return request.parameter("resourceVersion")
