"""WATCH: a stream of changes ("Efficient detection of changes", "Watch bookmarks", "Streaming lists")."""

from __future__ import annotations

from collections.abc import Callable

from gateway.encodings.encoder import Encoder
from gateway.endpoints.endpoint import Endpoint
from gateway.http.exchange import Request, Response
from gateway.reading.interests import interest_of
from gateway.reading.list_options import ListOptions, list_options, parse_resource_version
from gateway.reading.view import View
from gateway.reading.watch_stream import WatchStream
from storage.entry import ChangeType, Entry


async def watch(endpoint: Endpoint, request: Request) -> Response:
    """Answers a stream of watch events. Raises StatusError for a request that can't be read."""
    options = list_options(request, endpoint.selectable, watch=True)
    revision = parse_resource_version(options.resource_version)
    initial = revision == 0 if options.send_initial_events is None else options.send_initial_events
    encoder = endpoint.encoder(request.representation)
    stream = WatchStream(endpoint, encoder, _view(endpoint, encoder, request, options), options, initial)
    if not options.resource_version or (initial and revision):
        await stream.prepare(revision)
    return Response(200, stream.run(revision), request.representation.content_type, encoded=True)


def _event(endpoint: Endpoint, encoder: Encoder) -> Callable[[ChangeType, Entry], bytes]:
    """What makes the event of an entry, in the version that is served."""
    if not endpoint.versions.converts:
        return encoder.event
    versions = endpoint.versions
    return lambda type_, entry: encoder.event(type_, versions.of(entry))


def _view(endpoint: Endpoint, encoder: Encoder, request: Request, options: ListOptions) -> View:
    """The view that all watchers of one selection in one representation share."""
    prefix = endpoint.collection(request.info.namespace)
    key = (encoder, prefix, options.label_selector, options.field_selector, options.name)
    view = endpoint.views.get(key)
    if not isinstance(view, View):
        view = endpoint.views[key] = View(
            endpoint.cache, prefix, options.match, _event(endpoint, encoder), interest_of(endpoint, prefix, options)
        )
    return view
