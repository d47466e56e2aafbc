"""WATCH: a stream of changes ("Efficient detection of changes", "Watch bookmarks", "Streaming lists")."""

from __future__ import annotations

from collections.abc import AsyncIterator

from gateway.encodings.encoder import Encoder
from gateway.endpoints.endpoint import Endpoint
from gateway.http.exchange import Request, Response
from gateway.http.negotiation import PARTIAL_LIST
from gateway.reading.interests import interest_of
from gateway.reading.list_options import ListOptions, list_options, parse_resource_version
from gateway.reading.view import View
from gateway.reading.watch_body import WatchBody
from gateway.reading.watch_stream import WatchStream


async def watch(endpoint: Endpoint, request: Request) -> Response:
    """Answers with a stream of watch events. Raises StatusError for options that are not valid."""
    options = list_options(request, endpoint.selectable, watch=True)
    revision = parse_resource_version(options.resource_version)
    initial = revision == 0 if options.send_initial_events is None else options.send_initial_events
    transform = request.representation.transform
    if transform is not None and transform.kind == PARTIAL_LIST:  # no event is a list: as upstream, none is sent
        return Response(200, nothing(), request.representation.content_type, encoded=True)
    if options.watch_seconds < 0:  # timeoutSeconds is negative: the watch ends at once
        return Response(200, nothing(), request.representation.content_type, encoded=True)
    encoder = endpoint.encoder(request.representation)
    stream = WatchStream(endpoint, encoder, _view(endpoint, encoder, request, options), options, initial=initial)
    if not options.resource_version or (initial and revision):
        await stream.prepare(revision)
    return Response(200, WatchBody(stream, revision), request.representation.content_type, encoded=True)


async def nothing() -> AsyncIterator[bytes]:
    """A stream without events."""
    for _ in ():
        yield b""


def _view(endpoint: Endpoint, encoder: Encoder, request: Request, options: ListOptions) -> View:
    """The view that all watchers of one selection in one representation share."""
    prefix = endpoint.collection(request.info.namespace)
    key = (encoder, prefix, options.label_selector, options.field_selector, options.name)
    view = endpoint.views.get(key)
    convert = endpoint.versions.of if endpoint.versions.converts else None
    if not isinstance(view, View):
        interest = interest_of(endpoint, prefix, options)
        selects = endpoint.versions.selects
        view = View(endpoint.cache, prefix, options.match, encoder.event, convert, interest, selects, encoder.step)
        endpoint.views[key] = view
    return view
