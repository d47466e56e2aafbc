"""The operational routes except health and OpenAPI: version, metrics, the list of paths. Other paths get 404."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Callable, Mapping
from typing import Any

import orjson
from starlette.exceptions import HTTPException

from gateway.discovery import openid
from gateway.endpoints.routing import method_not_allowed
from gateway.http.compression import accepts_gzip
from gateway.http.exchange import TEXT_TYPE
from gateway.http.negotiation import Negotiator, is_human
from gateway.http.status import StatusError
from gateway.http.thread_pool import beside
from gateway.observability import flowcontrol, health
from gateway.observability.process import began
from gateway.observability.siblings import SiblingProcesses
from gateway.operations.framework import ANY_METHOD, APIRouter, FastAPI, Request, Response
from gateway.operations.openapi import openapi
from gateway.operations.page_forms import page_form
from gateway.operations.plain_services import add_service, refused
from gateway.operations.profiles import PAGE as PROFILES_PAGE
from gateway.operations.profiles import heap, profile
from gateway.operations.status_pages import flag_values, flags_text, status_of
from gateway.requests.parts import Gateway
from gateway.requests.plain_answers import NO_SNIFF, PAGE_NOT_FOUND
from storage.instruments.exposition import OPEN_METRICS, TEXT, exposition

SLIS = "/metrics/slis"
PROFILES = "/debug/pprof"
_PROFILE = 10.0  # seconds
_JSON = "application/json"
_TEXT = TEXT_TYPE.decode()
_HTML = "text/html; charset=utf-8"
_NO_SNIFF = {NO_SNIFF[0].decode(): NO_SNIFF[1].decode()}
_DOCUMENTS = (
    *("/apis/", "/openapi/v2", "/openapi/v3", "/openapi/v3/", "/version"),
    *(openid.CONFIGURATION_PATH, openid.KEYS_PATH),
)
_OF_PROCESS = ("/metrics", SLIS, "/statusz", "/flagz")
_GATED = {"/statusz": "ComponentStatusz", "/flagz": "ComponentFlagz"}  # the gate of a path
_STATUS_PATHS = ("/healthz", "/livez", "/readyz", "/metrics", "/version", "/flagz", "/statusz")


def operations(gateway: Gateway, siblings: SiblingProcesses, paths: Callable[[], list[str]]) -> APIRouter:
    """The router; `paths` returns the paths of the other routes, for the list at /."""
    enabled = gateway.registry.release.gates.enabled
    absent = {path for path, gate in _GATED.items() if not enabled(gate)}
    of_process = [path for path in _OF_PROCESS if path not in absent]
    answers, router = _Answers(gateway, siblings, lambda: [*paths(), *of_process]), APIRouter()
    inside = (
        (PROFILES, answers.lead_to_profiles),
        (f"{PROFILES}/", answers.show_profiles),
        (f"{PROFILES}/profile", answers.show_profile),
        (f"{PROFILES}/heap", answers.show_heap),
        (f"{PROFILES}/{{name:path}}", answers.show_no_profile),
    )
    for path, answer in (
        *(inside if gateway.settings.profiling else ()),
        ("/statusz", answers.show_status),
        ("/flagz", answers.show_flags),
        ("/", answers.show_paths),
        ("/index.html", answers.show_paths),
        ("/metrics", answers.show_metrics),
        (SLIS, answers.show_metrics),
        ("/debug/consistency", answers.check_consistency),
        (f"{flowcontrol.DEBUG}/{{what}}", answers.show_flow_control),
    ):
        if path not in absent:
            router.add_route(path, answer, methods=ANY_METHOD)  # a route of FastAPI would parse parameters, needlessly
    _add_documents(router, gateway, answers.issuer)
    return router


def _page(
    request: Request,
    kind: str,
    text: Callable[[], str],
    members: Callable[[], Mapping[str, Any]],
    media: Negotiator,
) -> Response:
    """A page in the form that the client accepts."""
    human = is_human(request.headers.get("user-agent", "").encode("latin-1"))
    try:
        form = page_form(request.headers.get("accept", ""), kind, human, media.has_cbor)
    except StatusError as error:
        return refused(request, error, media)
    return Response(text() if form.is_text else form.encode(members()), headers=form.headers())


def described_only(gateway: Gateway, paths: Callable[[], list[str]]) -> FastAPI:
    """The application of a control plane below /clusters: its version, issuer, keys, OpenAPI and paths, and no more."""
    app = FastAPI(title="apiserver-gateway", openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
    answers, router = _Answers(gateway, None, paths), APIRouter()
    for path in ("/", "/index.html"):
        router.add_route(path, answers.show_paths, methods=ANY_METHOD)
    _add_documents(router, gateway, answers.issuer)
    answer_strays(app)
    app.include_router(router)
    app.include_router(openapi(gateway.registry, gateway.endpoints.on_change, gateway.aggregation.described))
    return app


def _add_documents(router: APIRouter, gateway: Gateway, issuer: Callable[[Request], bytes]) -> None:
    """Adds the version, and the documents about the issuer of service account tokens."""
    version = orjson.dumps(gateway.registry.release.version_info(), option=orjson.OPT_INDENT_2)
    settings, media = gateway.settings, gateway.services.media.of_documents
    public = {"cache-control": openid.CACHE_CONTROL}
    add_service(router, "/version", lambda request: version, _JSON, media)
    add_service(router, openid.CONFIGURATION_PATH, issuer, _JSON, media, public)
    add_service(router, openid.KEYS_PATH, lambda request: openid.key_set(settings), openid.KEYS_TYPE, media, public)


class _Answers:
    """Answers the requests of the routes."""

    def __init__(self, gateway: Gateway, siblings: SiblingProcesses | None, paths: Callable[[], list[str]]) -> None:
        self._gateway, self._siblings, self._paths = gateway, siblings, paths

    def issuer(self, request: Request) -> bytes:
        """The issuer's discovery document. Without --advertise-address it names the address that the client used."""
        settings = self._gateway.settings
        address = f"{settings.advertise_address or request.url.hostname}:{settings.secure_port}"
        return openid.configuration(settings, address)

    async def show_metrics(self, request: Request) -> Response:
        assert self._siblings is not None, "metrics are of a process"
        found = await self._siblings.all()
        if request.url.path == SLIS:
            found = [family for family in found if family.name in health.SLIS]
        wanted = request.headers.get("accept", "")
        open_metrics = "application/openmetrics-text" in wanted
        media_type = (OPEN_METRICS if open_metrics else TEXT).decode()
        headers = {"content-type": media_type, "process-start-time-unix": f"{began():.0f}"}
        if not accepts_gzip(request.headers.get("accept-encoding", "").encode("latin-1")):
            return Response(await beside(lambda: exposition(found, open_metrics)), headers=headers)
        packed = await beside(lambda: gzip.compress(exposition(found, open_metrics), 1))
        return Response(packed, headers=headers | {"content-encoding": "gzip"})

    async def check_consistency(self, request: Request) -> Response:
        if request.method != "GET":
            return refused(request, method_not_allowed(), self._gateway.services.media.of_documents)
        findings = [found for each in self._gateway.services.databases for found in await each.checker.check()]
        return Response(orjson.dumps(findings, option=orjson.OPT_INDENT_2), media_type=_JSON)

    async def show_flow_control(self, request: Request) -> Response:
        text = flowcontrol.dump(self._gateway.services.limiter, request.path_params["what"])
        return page_not_found() if text is None else Response(text, media_type=_TEXT)

    async def show_status(self, request: Request) -> Response:
        status = status_of(_STATUS_PATHS, self._gateway.registry.release)
        return _page(request, "Statusz", status.text, status.members, self._gateway.services.media)

    async def show_flags(self, request: Request) -> Response:
        flags = flag_values(self._gateway.settings, self._gateway.registry.release.gates)
        media = self._gateway.services.media
        return _page(request, "Flagz", lambda: flags_text(flags), lambda: {"flags": flags}, media)

    async def lead_to_profiles(self, request: Request) -> Response:
        """302, as Go redirects: only GET and HEAD get a page with it."""
        place = f"{PROFILES}/"
        if request.method not in ("GET", "HEAD"):
            return Response(None, 302, headers={"location": place})
        return Response(f'<a href="{place}">Found</a>.\n\n', 302, headers={"location": place}, media_type=_HTML)

    async def show_profiles(self, _request: Request) -> Response:
        return Response(PROFILES_PAGE, media_type=_HTML, headers=_NO_SNIFF)

    async def show_no_profile(self, _request: Request) -> Response:
        return Response("Unknown profile\n", 404, media_type=_TEXT, headers=_NO_SNIFF)

    async def show_profile(self, request: Request) -> Response:
        given = request.query_params.get("seconds", "")
        found = await asyncio.to_thread(profile, float(given) if given.isascii() and given.isdigit() else _PROFILE)
        return Response(found, media_type=_JSON)

    async def show_heap(self, _request: Request) -> Response:
        return Response(await asyncio.to_thread(heap), media_type=_TEXT, headers=_NO_SNIFF)

    async def show_paths(self, _request: Request) -> Response:
        found = sorted({*self._paths(), *_DOCUMENTS})
        return Response(orjson.dumps({"paths": found}, option=orjson.OPT_INDENT_2), media_type="application/json")


def page_not_found() -> Response:
    """404 as text, for unknown paths."""
    body = PAGE_NOT_FOUND.body
    assert isinstance(body, bytes)
    return Response(body, 404, media_type=_TEXT, headers=_NO_SNIFF)


def answer_strays(app: FastAPI) -> None:
    """Makes the application answer unknown paths and methods with 404, as kube-apiserver does."""

    async def stray(_request: Request, _error: Exception) -> Response:
        return page_not_found()

    app.add_exception_handler(HTTPException, stray)
