"""GET of one object ("Semantics for get and list": resourceVersion unset, 0 or not older than)."""

from __future__ import annotations

from gateway.http.exchange import Request, Response
from gateway.http.status import not_found
from gateway.kinds.resource import Resource
from gateway.server import Gateway
from gateway.verbs.list_options import parse_resource_version
from gateway.verbs.too_large import too_large
from storage.reads import TooLargeRevision


async def get(gateway: Gateway, request: Request, resource: Resource) -> Response:
    """Answers the cached bytes of an object. Raises StatusError 404, 504 and, as kube-apiserver, 500 for a version
    that is no number.
    """
    served = gateway.served[resource.group, resource.version, resource.resource]
    info, reads = request.info, gateway.store.reads
    key = served.key(info.namespace, info.name)
    version = request.parameter("resourceVersion") if request.query_string else ""
    if not version:
        entry = await reads.get(served.cache, key)
    else:
        revision = parse_resource_version(version)
        try:
            cached = not revision or await reads.not_older_than(revision)
        except TooLargeRevision as error:
            raise too_large(error) from None
        entry = served.cache.get(key) if cached else await reads.get_direct(served.cache, key)
    if entry is None:
        raise not_found(resource.group, resource.resource, info.name)
    return Response(200, b"%b%b\n" % (served.head, served.tail(entry)))
