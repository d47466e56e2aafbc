"""WATCH: a stream of changes ("Efficient detection of changes", "Watch bookmarks", "Streaming lists")."""

from __future__ import annotations

from collections.abc import AsyncIterator

from gateway.encodings.encoder import Encoder
from gateway.endpoints.endpoint import Endpoint
from gateway.http.compression import accepts_gzip
from gateway.http.exchange import Request, Response
from gateway.http.negotiation import PARTIAL_LIST
from gateway.http.websocket import is_wanted
from gateway.reading.interests import interest_of
from gateway.reading.list_options import ListOptions, list_options, parse_resource_version
from gateway.reading.view import WatchView
from gateway.reading.watch_body import WatchBody
from gateway.reading.watch_stream import WatchStream

_PACKED = [(b"content-encoding", b"gzip"), (b"vary", b"Accept-Encoding")]


async def watch(endpoint: Endpoint, request: Request) -> Response:
    """Answers with a stream of watch events. Raises StatusError 400, 422, 500 for invalid options; then 406."""
    options = list_options(request, endpoint.selectable, True, endpoint.sharded)
    revision = parse_resource_version(options.resource_version)
    request.media.require_stream(request.representation)
    initial = revision == 0 if options.send_initial_events is None else options.send_initial_events
    content_type, headers = request.representation.content_type, _PACKED if _packs(endpoint, request, options) else []
    transform = request.representation.transform
    if transform is not None and transform.kind == PARTIAL_LIST:  # no event is a list: as upstream, none is sent
        return Response(200, nothing(), content_type, headers, encoded=True)
    if options.watch_seconds < 0:  # timeoutSeconds is negative: the watch ends at once
        return Response(200, nothing(), content_type, headers, encoded=True)
    encoder = endpoint.encoder(request.representation)
    view = _view(endpoint, encoder, request, options)
    stream = WatchStream(endpoint, encoder, view, options, initial=initial, packs=bool(headers))
    if not options.resource_version or (initial and revision):
        await stream.prepare(revision)
    return Response(200, WatchBody(stream, revision), content_type, headers, encoded=True)


def _packs(endpoint: Endpoint, request: Request, options: ListOptions) -> bool:
    """Whether a watch is sent with gzip: one that streams a list, to a client that accepts gzip (KEP-3157)."""
    accepted = request.headers.get(b"accept-encoding", b"")
    return (
        bool(accepted and options.send_initial_events and options.allow_bookmarks)
        and accepts_gzip(accepted)
        and endpoint.services.admission.release.gates.enabled("WatchListCompression")
        and not is_wanted(request.headers)
    )


async def nothing() -> AsyncIterator[bytes]:
    """A stream without events."""
    for _ in ():
        yield b""


def _view(endpoint: Endpoint, encoder: Encoder, request: Request, options: ListOptions) -> WatchView:
    """The view that all watchers of one selection in one representation share."""
    prefix = endpoint.collection(request.info.namespace)
    key = (encoder, prefix, *options.selectors, options.name)
    view = endpoint.views.get(key)
    convert = endpoint.versions.of if endpoint.versions.converts else None
    if not isinstance(view, WatchView):
        interest = interest_of(endpoint, prefix, options)
        selects = endpoint.versions.selects
        view = WatchView(endpoint.cache, prefix, options.match, encoder.event, convert, interest, selects, encoder.step)
        endpoint.views[key] = view
    return view
