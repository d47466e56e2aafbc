"""The stages request info and routing, and the memory of routes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from gateway.endpoints.endpoint import Endpoint
from gateway.endpoints.routing import NameMissing, UnknownPath, is_in_scope, misnamed, served_resource, unknown_path
from gateway.flowcontrol.limiting import is_long_running
from gateway.http.deadline import MAXIMUM, request_timeout
from gateway.http.escapes import valid_escapes
from gateway.http.exchange import TEXT_TYPE, Request, Response
from gateway.http.negotiation import Negotiator, is_human, pretty_parameter
from gateway.http.request_info import MalformedPath, RequestInfo, request_info
from gateway.http.sending import audit_id
from gateway.http.status import StatusError, not_found
from gateway.kinds.registry import builtin_groups
from gateway.kinds.resource import Resource
from gateway.kinds.strategies import is_imported
from gateway.requests.context import Outcome, RequestContext
from gateway.requests.measures import Measures, measures_of
from gateway.requests.parts import Gateway
from gateway.requests.plain_answers import PAGE_NOT_FOUND, internal_error, request_uri
from gateway.subresources import PASSED_ON
from gateway.verbs import Verb, verb_for

_ROUTES_LIMIT = 8192
_MEMORABLE_PATH = 512  # characters: those of the longest names
_MEMORABLE_QUERY = 48  # bytes; longer queries hardly come again


class Route(NamedTuple):
    """What is known of a request from its path and query alone."""

    info: RequestInfo
    endpoint: Endpoint
    verb: Verb
    media: Negotiator
    query: dict[str, list[str]]
    timeout: float | None
    measures: Measures


Delegated = tuple[RequestInfo, float | None, dict[str, list[str]]]
"""A request's info, timeout and query."""


class Routes:
    """Finds what serves a request, and remembers it for GETs and for POSTs to collections."""

    def __init__(self, gateway: Gateway) -> None:
        self._registry, self._endpoints = gateway.registry, gateway.endpoints
        self._media = gateway.services.media
        self._longest = gateway.settings.request_timeout
        self._builtin = builtin_groups(gateway.registry) & gateway.registry.groups.keys()
        self.gets: dict[tuple[str, bytes], Route] = {}  # by path and query
        self.creates: dict[tuple[str, bytes], Route] = {}
        self._delegated: dict[tuple[str, bytes], Delegated] = {}  # what GETs ask other servers for
        gateway.endpoints.on_change(self.gets.clear)
        gateway.endpoints.on_change(self.creates.clear)

    def read_info(self, context: RequestContext) -> Outcome:
        """Sets the request's info and timeout, and the route where it is remembered.

        The answer for a path that cannot be read. Raises StatusError 400 for a timeout that is none.
        """
        request = context.request
        method = request.method
        known = self.gets if method == "GET" else self.creates if method == "POST" else None
        route = None if known is None else known.get((request.path, request.query_string))
        request.human = is_human(request.headers.get(b"user-agent", b""))
        if route is None:
            delegated = self._delegated.get((request.path, request.query_string)) if method == "GET" else None
            if delegated is None:
                refused = _read_info(request, context.scope)
                if refused is not None:
                    return refused
                context.timeout = self._timeout(request)
            else:
                request.info, context.timeout, query = delegated
                request.adopt_query(query)
        else:
            context.route, context.timeout, request.info = route, route.timeout, route.info
            request.adopt_query(route.query)
        if request.query_string:
            request.human = pretty_parameter(request.query, request.human)
        return None

    def delegated(self, context: RequestContext) -> None:
        """Remembers what a request asks another server for: whoever serves it, its path and query mean the same."""
        request = context.request
        if request.method == "GET" and _is_memorable(request):
            if len(self._delegated) >= _ROUTES_LIMIT:
                self._delegated.clear()
            self._delegated[request.path, request.query_string] = request.info, context.timeout, request.query

    def find(self, context: RequestContext) -> Outcome:
        """Sets the route; the answer for a path that is nobody's. Raises StatusError 404 or 405."""
        if context.route is not None:
            return None
        info = context.request.info
        if not self._serves(info) or info.path.startswith("//") or (info.prefix == "apis" and not info.group):
            return PAGE_NOT_FOUND
        try:
            context.route = self.route(context.request, context.timeout)
        except UnknownPath:
            if info.group in self._builtin:
                raise
            custom = self._registry.resources.get((info.group, info.version, info.resource, ""))
            if info.subresource and custom is not None and is_in_scope(custom, info):
                raise not_found(info.group, info.resource, info.name) from None
            return PAGE_NOT_FOUND
        return None

    def route(self, request: Request, timeout: float | None) -> Route:
        """Finds what serves a resource request, and remembers it. Raises StatusError 404 or 405."""
        info = request.info
        if (info.group, info.version, info.resource) in self._registry.unserved:
            raise unknown_path()
        resource = served_resource(self._registry.resources, request.method, info)
        endpoint = self._endpoints.of_resource(resource)
        media = self._media.of_custom if resource.defined else self._media
        if (resource.gvr.group_resource, resource.subresource) in PASSED_ON:
            media = self._media.of_others
        measures = measures_of(request, "" if endpoint.deprecation else None)
        problem = misnamed(resource, info)
        verb = verb_for(info.verb, resource) if problem is None else _refusing(request, resource, problem)
        unloaded = _is_unloaded(endpoint)
        if unloaded:
            from gateway.requests.unloaded import once_loaded

            verb = once_loaded(verb)
        ready = not unloaded and problem is None
        if request.method != "GET" and not is_imported(endpoint.resource.gvr.group_resource):
            from gateway.requests.unimported import once_imported

            verb, ready = once_imported(verb), False
        route = Route(info, endpoint, verb, media, request.query, timeout, measures)
        if ready and _is_memorable(request):
            known = self.gets if request.method == "GET" else self.creates
            if len(known) >= _ROUTES_LIMIT:
                known.clear()
            known[request.path, request.query_string] = route
        return route

    def _timeout(self, request: Request) -> float | None:
        """The deadline that the client set or --request-timeout, in seconds; None where none applies.

        What has the default's 60 s ends before by itself: no time is taken for that.
        """
        info = request.info
        text = request.parameter("timeout")
        if not text and self._longest == MAXIMUM:
            return None
        if info.verb == "watch" or is_long_running(info):
            return None
        return request_timeout(text, self._longest) if text else self._longest

    def _serves(self, info: RequestInfo) -> bool:
        """Whether a path is under a group of built-in kinds, or under a served version of a custom one."""
        if info.group in self._builtin:
            return True
        return (info.group, info.version, info.resource, "") in self._registry.resources


def _refusing(request: Request, resource: Resource, problem: StatusError) -> Verb:
    """What refuses a request for its name. Raises StatusError 400 and 415 where that comes before negotiation."""
    from gateway.requests.misnamed import check_at_once, refusing

    missing = isinstance(problem, NameMissing)
    if missing and resource.defined:
        check_at_once(request, resource, problem)
    return refusing(problem, missing)


def _is_memorable(request: Request) -> bool:
    """Whether it may well come again: a GET, or a POST to a collection, and not too long."""
    if request.method != "GET" and (request.method != "POST" or request.info.name):
        return False
    return len(request.query_string) <= _MEMORABLE_QUERY and len(request.path) <= _MEMORABLE_PATH


def _read_info(request: Request, scope: Mapping[str, Any]) -> Response | None:
    if not valid_escapes(scope["raw_path"]):
        return Response(400, b"400 Bad Request", TEXT_TYPE, [(b"connection", b"close")], bare=True)
    try:
        request.info = request_info(request.method, request.path, request.query)
    except MalformedPath as error:
        uri = request_uri(scope)
        refused = internal_error(uri, f"failed to create RequestInfo: {error}, {uri}")
        refused.bare = True  # this comes before what adds a header for caches
        refused.headers = [*refused.headers, (b"audit-id", audit_id(request.headers))]
        return refused
    return None


def _is_unloaded(endpoint: Endpoint) -> bool:
    """Whether the cache of an endpoint has never been filled: only of etcds for which a start does not wait."""
    database = endpoint.database
    return database is not endpoint.services.database and not database.cache.reached
