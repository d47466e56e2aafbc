"""Reads of a past state of the cache, as from a kube-apiserver whose watch cache lags behind etcd."""

from __future__ import annotations

from gateway.encodings.representation import represented_entry
from gateway.http.exchange import Response
from gateway.http.status import not_found
from gateway.requests.context import Outcome, RequestContext
from storage.errors import StorageError


def read_stale(context: RequestContext, changes: int, seconds: float) -> Outcome:
    """Answers a GET or LIST with the state before the last `changes` of its resource, or before the last `seconds`.

    None means that the request goes on, as it does if there are no such changes. A LIST always goes on, but with a
    changed query: it asks for exactly the past resourceVersion, which its answer then has.
    """
    request, route = context.request, context.route
    assert route is not None
    endpoint = route.endpoint
    try:
        revision = endpoint.cache.history.before(changes, seconds)
    except LookupError:  # the resource is not stored
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
    except StorageError:  # the revision is compacted: the request goes on with the present state
        return None
    if not page.entries or page.entries[0].key != key:
        raise not_found(endpoint.resource.group, endpoint.resource.resource, route.info.name)
    entry = await endpoint.versions.one(page.entries[0])
    encoder = endpoint.encoder(request.representation)
    body = await represented_entry(encoder, entry, endpoint.services.renderings.apart)
    return Response(200, body, encoder.content_type, encoded=True)
