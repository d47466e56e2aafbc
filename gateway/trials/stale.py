"""Reads of a past state of the cache, as from a kube-apiserver whose watch cache lags behind etcd."""

from __future__ import annotations

from gateway.encodings.representation import represented_entry
from gateway.http.exchange import Response
from gateway.http.status import not_found
from gateway.requests.context import Outcome, RequestContext
from storage.errors import StorageError


def read_stale(context: RequestContext, changes: int, seconds: float) -> Outcome:
    """The answer to a GET or LIST as of before the last changes of its resource; None if there are none to leave out.

    A LIST goes on as one at exactly that revision, which its answer names.
    """
    request, route = context.request, context.route
    assert route is not None
    endpoint = route.endpoint
    try:
        revision = endpoint.cache.history.before(changes, seconds)
    except LookupError:  # it is not stored
        return None
    if revision < 0 or route.info.subresource:
        return None
    if route.info.verb == "get":
        return _one(context, revision)
    query = {name: values for name, values in request.query.items() if name not in ("limit", "continue")}
    request.adopt_query({**query, "resourceVersion": [str(revision)], "resourceVersionMatch": ["Exact"]})
    return None


async def _one(context: RequestContext, revision: int) -> Response | None:
    request, route = context.request, context.route
    assert route is not None
    endpoint = route.endpoint
    key = endpoint.key(route.info.namespace, route.info.name)
    try:
        page = await endpoint.store.reads.page_at(endpoint.cache, key, key, 1, None, revision)
    except StorageError:  # it is compacted: the cache is asked as it is
        return None
    if not page.entries or page.entries[0].key != key:
        raise not_found(endpoint.resource.group, endpoint.resource.resource, route.info.name)
    entry = await endpoint.versions.one(page.entries[0])
    encoder = endpoint.encoder(request.representation)
    body = await represented_entry(encoder, entry, endpoint.services.renderings.apart)
    return Response(200, body, encoder.content_type, encoded=True)
