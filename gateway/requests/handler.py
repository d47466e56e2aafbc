"""The ASGI handler of the API: every request's way from bytes to a verb and back.

In kube-apiserver's order: RequestInfo, deadline, authentication, authorization, then the path's endpoint, the Accept
header and the verb. Whatever goes wrong becomes a Status; a traceback never leaves the process.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateway.access.authorization import Undecided, require_of_request
from gateway.access.impersonation import Impersonation, impersonates
from gateway.access.rbac.policy import GROUP as RBAC_GROUP
from gateway.discovery.serving import Discovery
from gateway.encodings.failures import failure
from gateway.encodings.representation import represented
from gateway.endpoints.endpoint import Endpoint
from gateway.endpoints.routing import UnknownPath, served_resource
from gateway.flowcontrol.level import Refused
from gateway.flowcontrol.limiting import Held, is_long_running, too_many
from gateway.http.compression import compressed
from gateway.http.cycle import WHOLE
from gateway.http.deadline import request_timeout, timed_out
from gateway.http.escapes import valid_escapes
from gateway.http.exchange import TEXT_TYPE, ClientDisconnected, Request, Response
from gateway.http.negotiation import JSON, STANDARD, Negotiator, is_human, pretty_parameter
from gateway.http.request_info import MalformedPath, RequestInfo, request_info
from gateway.http.sending import Send, send_response, with_standard_headers
from gateway.http.status import StatusError, not_found
from gateway.http.websocket import switched
from gateway.kinds.attributes import Attributes
from gateway.kinds.registry import builtin_groups
from gateway.kinds.resource import Resource
from gateway.requests.parts import Gateway
from gateway.requests.transforms import check_read, transformed
from gateway.verbs import Verb, verb_for
from storage.errors import StorageError

if TYPE_CHECKING:
    from gateway.audit.auditing import Record

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Fallback = Callable[[Scope, Receive, Send], Awaitable[None]]
NO_SNIFF = (b"x-content-type-options", b"nosniff")
PAGE_NOT_FOUND = Response(404, b"404 page not found\n", TEXT_TYPE, [NO_SNIFF])

_ROUTES_LIMIT = 8192
_MEMORABLE_PATH = 512  # characters: those of the longest names
_MEMORABLE_QUERY = 48  # bytes; longer queries hardly come again
_WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})


@dataclass(frozen=True, slots=True)
class Route:
    """What is known of a request from its path and query alone."""

    info: RequestInfo
    endpoint: Endpoint
    verb: Verb
    media: Negotiator
    query: dict[str, list[str]]
    timeout: float | None


class _Held:
    """What a request holds of the server until it is over, and what is recorded of it."""

    __slots__ = ("record", "seats", "watch")

    def __init__(self) -> None:
        self.seats: Held | None = None
        self.watch: Held | None = None
        self.record: Record | None = None

    def give_back(self) -> None:
        if self.seats is not None:
            self.seats.give_back()
        if self.watch is not None:
            self.watch.give_back()


class Handler:
    """Answers a gateway's requests; those under other paths than /api and /apis go to `fallback` once allowed."""

    def __init__(self, gateway: Gateway, discovery: Discovery, fallback: Fallback) -> None:
        self._gateway = gateway
        self._discovery = discovery
        self._renderings = gateway.services.renderings
        self._fallback = fallback
        self._media = gateway.services.media
        self._impersonation = Impersonation(gateway.services.authorizer)
        self._builtin = builtin_groups(gateway.registry)
        self._audit = gateway.services.audit
        self._routes: dict[tuple[str, bytes], Route] = {}  # of GETs, by path and query
        self._creates: dict[tuple[str, bytes], Route] = {}  # of POSTs to collections, likewise
        gateway.endpoints.on_change(self._routes.clear)
        gateway.endpoints.on_change(self._creates.clear)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(reversed(scope["headers"]))
        request = Request(scope["method"], scope["path"], scope["query_string"], headers, receive)
        request.scope = scope
        held = _Held()
        whole = self._audit is None and WHOLE in scope.get("extensions", ())
        if self._audit is not None:
            send = self._audit.listening(request, held, send)
        try:
            try:
                response = await self._respond(request, scope, held)
                if response is None:
                    await self._fallback(scope, receive, with_standard_headers(request, send))
                    return
                if b"accept-encoding" in request.headers:
                    response = await compressed(request, response)
            except ClientDisconnected:
                return
            except Refused as refused:
                response = too_many(refused)
            except Undecided as error:
                response = _internal_error(request.path, str(error))
            except Exception as error:
                if held.record is not None:
                    held.record.failed(error)
                response = await failure(request, error, self._renderings.apart)
            await send_response(request, response, send, whole)
        finally:
            held.give_back()
            if held.record is not None:
                await held.record.end()

    async def _respond(self, request: Request, scope: Scope, held: _Held) -> Response | None:
        """The answer; None when it is the fallback's to give."""
        headers = request.headers
        known = self._routes if request.method == "GET" else self._creates if request.method == "POST" else None
        route = None if known is None else known.get((request.path, request.query_string))
        request.human = is_human(headers.get(b"user-agent", b""))
        if route is None:
            refused = _read_request_info(request, scope["raw_path"])
            if refused is not None:
                return refused
            timeout = _timeout(request)
        else:
            request.info, timeout = route.info, route.timeout
            request.adopt_query(route.query)
        if request.query_string:
            request.human = pretty_parameter(request.query, request.human)
        await self._admit(request, scope, timeout, held)
        if route is None:
            if not request.info.is_resource:
                return await self._discover(request)
            if not self._serves(request.info):
                return PAGE_NOT_FOUND
            try:
                route = self._route(request, timeout)
            except UnknownPath:
                if request.info.group in self._builtin:
                    raise
                return self._unknown_custom(request.info)
        resource = route.endpoint.resource
        request.media = route.media
        if route.info.verb == "patch":
            _check_patch_type(request, resource)
        request.representation = request.media.negotiate(headers.get(b"accept", b""), route.info.verb)
        if request.human:
            request.representation = request.representation.prettied()
        if request.representation.transform is not None:
            request.representation = transformed(request, resource, route.info.verb)
        if route.info.verb != "watch":
            return await self._answer(request, route, timeout)
        held.watch = self._gateway.services.watches.open(request)
        response = await self._answer(request, route, timeout)
        if held.seats is not None:
            held.seats.give_back()
        return switched(request, response) if b"upgrade" in request.headers else response

    async def _answer(self, request: Request, route: Route, timeout: float | None) -> Response:
        """What the verb answers, in the representation that was negotiated."""
        endpoint = route.endpoint
        if endpoint.deprecation:
            request.warnings.append(endpoint.deprecation)
            if request.audit is not None:
                request.audit.annotate("k8s.io/deprecated", "true")
        if timeout is None:
            response = await route.verb(endpoint, request)
        else:
            try:
                async with asyncio.timeout(timeout):
                    response = await route.verb(endpoint, request)
            except TimeoutError:
                raise timed_out() from None
        if route.info.verb in _WRITES:
            await asyncio.sleep(0)  # watchers are told first, so that who is answered finds its write in its caches
        if route.info.group == RBAC_GROUP and request.method != "GET":
            with contextlib.suppress(StorageError):  # it is written; who is told otherwise would write it again
                await self._gateway.services.store.reads.fresh()  # so that whoever wrote finds it in force
        if request.representation.transform is not None and response.status < 300:
            check_read(request.representation, endpoint.resource, route.info.verb)
        if request.audit is not None:
            request.audit.answered(response)
        if response.encoded or request.representation is JSON:
            return response
        return await represented(
            request, response, lambda: endpoint.encoder(request.representation), self._renderings.apart
        )

    async def _discover(self, request: Request) -> Response | None:
        found = await self._discovery.respond(request, self._renderings.apart)
        if found is None:
            return None
        if request.human:
            request.representation = request.representation.prettied()
        return await represented(request, found)

    async def _admit(self, request: Request, scope: Scope, timeout: float | None, held: _Held) -> None:
        """Authenticates, waits for the request's turn and authorizes; raises StatusError 400, 401 or 403, Refused."""
        services = self._gateway.services
        user = await services.authenticator.authenticate(
            request.headers, scope["headers"], scope.get("client_certificate", b""), request.path
        )
        if self._audit is not None:
            record = request.audit = held.record = self._audit.record(request, user, scope)
            if record is not None:
                await record.begin()
        if user is None:
            raise StatusError(401, "Unauthorized", "Unauthorized")
        request.user = user
        attributes = Attributes(user, request.info)
        if impersonates(request.headers):
            request.user = await self._impersonation.user(scope["headers"], attributes)
            attributes = Attributes(request.user, request.info)
            if held.record is not None and request.user is not user:
                held.record.impersonated(request.user, self._impersonation.constraint(user.name))
        held.seats = await services.limiter.enter(request, timeout)
        if held.record is None:
            await require_of_request(services.authorizer, attributes)
        else:
            await held.record.authorize(services.authorizer, attributes)

    def _unknown_custom(self, info: RequestInfo) -> Response:
        """What is answered where a custom resource has no such path. Raises StatusError for a subresource."""
        if info.subresource and info.name:
            raise not_found(info.group, info.resource, info.name)
        return PAGE_NOT_FOUND

    def _serves(self, info: RequestInfo) -> bool:
        """Whether a path is under a group of built-in kinds, or under a served version of a custom one."""
        if info.group in self._builtin:
            return True
        return (info.group, info.version, info.resource, "") in self._gateway.registry.resources

    def _route(self, request: Request, timeout: float | None) -> Route:
        """Finds what serves a resource request, and remembers it. Raises StatusError 404 or 405."""
        info = request.info
        resource = served_resource(self._gateway.registry.resources, request.method, info)
        endpoint = self._gateway.endpoints.of_resource(resource)
        media = self._media.of_custom if resource.defined else self._media
        route = Route(info, endpoint, verb_for(info.verb, resource), media, request.query, timeout)
        known = self._routes if request.method == "GET" else self._creates
        if _is_memorable(request):
            if len(known) >= _ROUTES_LIMIT:
                known.clear()
            known[request.path, request.query_string] = route
        return route


def _is_memorable(request: Request) -> bool:
    """Whether it may well come again: a GET, or a POST to a collection, and not too long."""
    if request.method != "GET" and (request.method != "POST" or request.info.name):
        return False
    return len(request.query_string) <= _MEMORABLE_QUERY and len(request.path) <= _MEMORABLE_PATH


def _check_patch_type(request: Request, resource: Resource) -> None:
    """Raises StatusError 415 before anything else of a patch of a built-in kind is looked at, and not in CBOR."""
    from gateway.writing.patching import patch_type

    if not resource.defined:
        try:
            patch_type(request, resource)
        except StatusError:
            request.media = STANDARD
            raise


def _read_request_info(request: Request, raw_path: bytes) -> Response | None:
    """Sets the request's info; the answer for a path that cannot be read."""
    if not valid_escapes(raw_path):
        return Response(400, b"400 Bad Request", TEXT_TYPE)
    try:
        request.info = request_info(request.method, request.path, request.query)
    except MalformedPath as error:
        return _internal_error(request.path, f"failed to create RequestInfo: {error}")
    return None


def _internal_error(path: str, reason: str) -> Response:
    """500 in plain text, as kube-apiserver answers before it knows what the client accepts."""
    message = f'Internal Server Error: "{path}": {reason}\n'
    return Response(500, message.encode("utf-8", "replace"), TEXT_TYPE, [NO_SNIFF])


def _timeout(request: Request) -> float | None:
    """The deadline that the client set, in seconds; None where there is none or none applies."""
    text = request.parameter("timeout")
    info = request.info
    if not text or info.verb == "watch" or is_long_running(info):
        return None
    return request_timeout(text)
