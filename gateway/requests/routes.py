"""The stages request-info and routing, and caches of their results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gateway.endpoints.routing import UnknownPath, is_in_scope, misnamed, served_resource, unknown_path
from gateway.flowcontrol.limiter import is_long_running
from gateway.http.deadline import MAXIMUM, request_timeout
from gateway.http.escapes import valid_escapes
from gateway.http.exchange import TEXT_TYPE, Request, Response
from gateway.http.negotiation import is_human, pretty_parameter
from gateway.http.request_info import MalformedPath, RequestInfo, request_info
from gateway.http.status import not_found
from gateway.kinds.strategies import is_imported
from gateway.memo import Memory
from gateway.requests.context import Outcome, RequestContext, Route
from gateway.requests.load_stages import is_unfilled, is_unloaded, unfilled_endpoint
from gateway.requests.measures import measures_of
from gateway.requests.named_routes import NamedRoutes
from gateway.requests.parts import Gateway
from gateway.requests.plain_answers import PAGE_NOT_FOUND, internal_error, request_uri
from gateway.subresources import PASSED_ON
from gateway.verbs import verb_for

_ROUTES = 16 << 20  # bytes of each of the caches: about 8000 routes
_ROUTE = 1500  # bytes of a route besides its path and query
_MEMORABLE_PATH = 512  # characters: enough for the longest names
_MEMORABLE_QUERY = 48  # bytes; longer queries are rarely repeated


Delegated = tuple[RequestInfo, float | None, dict[str, list[str]]]
"""A request's info, timeout and query."""


class Routes:
    """Finds the routes of requests, and caches them for GETs, for POSTs to collections, and for writes to objects."""

    def __init__(self, gateway: Gateway) -> None:
        self._registry, self._endpoints = gateway.registry, gateway.endpoints
        self._media = gateway.services.media
        self._longest = gateway.settings.request_timeout
        self._builtin = gateway.registry.builtin_groups() & gateway.registry.groups.keys()
        self.gets: Memory[tuple[str, bytes], Route] = Memory(_ROUTES)  # by path and query
        self.creates: Memory[tuple[str, bytes], Route] = Memory(_ROUTES)
        self._delegated: Memory[tuple[str, bytes], Delegated] = Memory(_ROUTES)  # GETs that go to other servers
        gateway.endpoints.on_change(self.gets.clear)
        gateway.endpoints.on_change(self.creates.clear)
        self._named = NamedRoutes(_ROUTES)
        gateway.endpoints.on_change(self._named.clear)

    def recall(self, context: RequestContext) -> bool:
        """Sets the request's info, timeout and route from the cache. Returns whether the cache has them; if so, the
        request skips the stages with `Stage.by_path`.
        """
        request = context.request
        method = request.method
        known = self.gets if method == "GET" else self.creates if method == "POST" else None
        if known is None:
            route = self._named.recall(request, context.scope)
        else:
            route = known.get((request.path, request.query_string))
        if route is None:
            return False
        context.route, context.timeout, request.info = route, route.timeout, route.info
        request.adopt_query(route.query)
        _read_human(request)
        return True

    def read_info(self, context: RequestContext) -> Outcome:
        """Sets the request's info and timeout. Returns an error answer for an invalid path.

        Raises StatusError 400 for an invalid timeout.
        """
        request = context.request
        request.human = is_human(request.headers.get(b"user-agent", b""))  # counts also for errors raised here
        delegated = self._delegated.get((request.path, request.query_string)) if request.method == "GET" else None
        if delegated is None:
            refused = _read_info(request, context.scope)
            if refused is not None:
                return refused
            context.timeout = self._timeout(request)
        else:
            request.info, context.timeout, query = delegated
            request.adopt_query(query)
        _read_human(request)
        return None

    def delegated(self, context: RequestContext) -> None:
        """Caches the info, timeout and query of a GET that goes to another server; path and query determine them."""
        request = context.request
        if request.method == "GET" and _is_memorable(request):
            key = request.path, request.query_string
            self._delegated.keep(key, (request.info, context.timeout, request.query), _size(request))

    def find(self, context: RequestContext) -> Outcome:
        """Sets the route. Returns a 404 page for a path of a group that is not served. Raises StatusError 404, 405."""
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
        """Finds and caches the route of a resource request. Raises StatusError 404 or 405."""
        info = request.info
        if (info.group, info.version, info.resource) in self._registry.unserved:
            raise unknown_path()
        resource = served_resource(self._registry.resources, request.method, info)
        endpoint = self._endpoints.of_resource(resource)
        if is_unfilled(endpoint):
            endpoint = unfilled_endpoint(endpoint, info, request)
        media = self._media.of_custom if resource.defined else self._media
        if (resource.gvr.group_resource, resource.subresource) in PASSED_ON:
            media = self._media.of_others
        measures = measures_of(request, "" if endpoint.deprecation else None)
        problem = misnamed(resource, info)
        verb = verb_for(info.verb, resource)
        route = Route(info, endpoint, verb, media, request.query, timeout, measures, problem)
        if _is_ready(route, request.method):
            if _is_memorable(request):
                known = self.gets if request.method == "GET" else self.creates
                known.keep((request.path, request.query_string), route, _size(request))
            elif len(request.query_string) <= _MEMORABLE_QUERY:
                self._named.note(request, route, _size(request))
        return route

    def _timeout(self, request: Request) -> float | None:
        """The client's `timeout` or --request-timeout, in seconds; None for watches and other long-running requests.

        It is None also with the default of 60 s and no `timeout`, to save a timer: such requests end earlier by
        themselves.
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


def _is_ready(route: Route, method: str) -> bool:
    """Whether a cached route may skip the stages between routing and the verb that have `Stage.by_path`."""
    endpoint = route.endpoint
    if route.problem is not None or endpoint.direct or is_unloaded(endpoint):
        return False
    return method == "GET" or is_imported(endpoint.resource.gvr.group_resource)


def _read_human(request: Request) -> None:
    """Sets whether the answer's JSON is indented: by the `pretty` parameter, or else by the User-Agent."""
    request.human = is_human(request.headers.get(b"user-agent", b""))
    if request.query_string:
        request.human = pretty_parameter(request.query, request.human)


def _is_memorable(request: Request) -> bool:
    """Whether the route may be cached: of a GET, or a POST to a collection, if path and query are not too long."""
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
        refused.bare = True  # in kube-apiserver, the filter that adds Cache-Control runs later
        refused.headers = [*refused.headers, (b"audit-id", request.audit_id)]
        return refused
    return None


def _size(request: Request) -> int:
    return _ROUTE + 3 * len(request.path) + 3 * len(request.query_string)
