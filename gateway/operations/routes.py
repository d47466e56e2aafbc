"""The routes of operation but for health: version, metrics, the list of paths. Everything else is not found."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import orjson
from starlette.exceptions import HTTPException

from gateway.discovery import openid
from gateway.encodings.registry import encode_plain
from gateway.endpoints.routing import method_not_allowed
from gateway.http.exchange import TEXT_TYPE
from gateway.http.negotiation import STANDARD, literally_acceptable, unacceptable
from gateway.http.thread_pool import beside
from gateway.observability import flowcontrol, health
from gateway.observability.probes import METHODS
from gateway.observability.siblings import Siblings
from gateway.operations.framework import APIRouter, FastAPI, Request, Response
from gateway.operations.profiles import heap, profile
from gateway.operations.status_pages import flagz, statusz
from gateway.requests.parts import Gateway
from gateway.requests.plain_answers import NO_SNIFF, PAGE_NOT_FOUND
from gateway.version import version_info
from storage.instruments.exposition import OPEN_METRICS, TEXT, exposition

SLIS = "/metrics/slis"
PROFILES = "/debug/pprof"
_PROFILE = 10.0  # seconds
_JSON = "application/json"
_TEXT = TEXT_TYPE.decode()
_NO_SNIFF = {NO_SNIFF[0].decode(): NO_SNIFF[1].decode()}


def operations(gateway: Gateway, siblings: Siblings, paths: Callable[[], list[str]]) -> APIRouter:
    """The router; `paths` lists those that others answer."""
    router = APIRouter()
    version = orjson.dumps(version_info(), option=orjson.OPT_INDENT_2)

    async def show_version(request: Request) -> Response:
        if request.method != "GET":
            return _method_not_allowed()
        accept = request.headers.get("accept", "")
        if not literally_acceptable(accept, (_JSON,)):
            return _not_acceptable(accept)
        return Response(version, media_type=_JSON)

    async def show_issuer(request: Request) -> Response:
        address = f"{gateway.settings.advertise_address or request.url.hostname}:{gateway.settings.secure_port}"
        return _public(request, openid.configuration(gateway.settings, address), _JSON)

    async def show_keys(request: Request) -> Response:
        return _public(request, openid.key_set(gateway.settings), openid.KEYS_TYPE)

    async def show_metrics(request: Request) -> Response:
        found = await siblings.all()
        if request.url.path == SLIS:
            found = [family for family in found if family.name in health.SLIS]
        wanted = request.headers.get("accept", "")
        open_metrics = "application/openmetrics-text" in wanted
        text = await beside(lambda: exposition(found, open_metrics))
        return Response(text, headers={"content-type": (OPEN_METRICS if open_metrics else TEXT).decode()})

    async def check_consistency(request: Request) -> Response:
        if request.method != "GET":
            return _method_not_allowed()
        findings = await gateway.services.checker.check()
        return Response(orjson.dumps(findings, option=orjson.OPT_INDENT_2), media_type=_JSON)

    async def show_flow_control(request: Request) -> Response:
        text = flowcontrol.dump(gateway.services.limiter, request.path_params["what"])
        return page_not_found() if text is None else Response(text, media_type=_TEXT, headers=_NO_SNIFF)

    async def show_status(_request: Request) -> Response:
        return _text(statusz(("/healthz", "/livez", "/readyz", "/metrics", "/version", "/flagz")))

    async def show_flags(_request: Request) -> Response:
        return _text(flagz(gateway.settings))

    async def show_profile(request: Request) -> Response:
        given = request.query_params.get("seconds", "")
        found = await asyncio.to_thread(profile, float(given) if given.isdigit() else _PROFILE)
        return Response(found, media_type=_JSON)

    async def show_heap(_request: Request) -> Response:
        return _text(await asyncio.to_thread(heap))

    async def show_paths(_request: Request) -> Response:
        found = sorted({*paths(), "/apis/", "/metrics", SLIS, "/openapi/v2", "/openapi/v3", "/version"})
        return Response(orjson.dumps({"paths": found}, option=orjson.OPT_INDENT_2), media_type="application/json")

    inside = ((f"{PROFILES}/profile", show_profile), (f"{PROFILES}/heap", show_heap))
    for path, answer in (
        *(inside if gateway.settings.profiling else ()),
        ("/statusz", show_status),
        ("/flagz", show_flags),
        ("/", show_paths),
        ("/index.html", show_paths),
        ("/version", show_version),
        ("/version/", show_version),
        ("/metrics", show_metrics),
        (SLIS, show_metrics),
        (openid.CONFIGURATION_PATH, show_issuer),
        (openid.KEYS_PATH, show_keys),
        ("/debug/consistency", check_consistency),
        (f"{flowcontrol.DEBUG}/{{what}}", show_flow_control),
    ):
        router.add_route(path, answer, methods=METHODS)  # nothing is to be parsed, which a route of FastAPI's would do
    return router


def _text(text: str | bytes) -> Response:
    return Response(text, media_type=_TEXT, headers=_NO_SNIFF)


def _public(request: Request, content: bytes, media_type: str) -> Response:
    if request.method != "GET":
        return _method_not_allowed()
    return Response(content, media_type=media_type, headers={"cache-control": openid.CACHE_CONTROL})


def page_not_found() -> Response:
    """404 as text, for paths that are nobody's."""
    body = PAGE_NOT_FOUND.body
    assert isinstance(body, bytes)
    return Response(body, 404, media_type=_TEXT, headers=_NO_SNIFF)


def _method_not_allowed() -> Response:
    error = method_not_allowed()
    return Response(error.body(), error.code, media_type="application/json")


def _not_acceptable(accept: str) -> Response:
    """There is JSON only; the refusal comes in what the client asked for, as any."""
    error = unacceptable((_JSON,))
    representation = STANDARD.for_status(accept.encode("latin-1"))
    return Response(encode_plain(representation, error.body()), error.code, media_type=representation.media.name)


def answer_strays(app: FastAPI) -> None:
    """Makes the application answer unknown paths, and methods that no route has, as kube-apiserver does."""

    async def stray(_request: Request, _error: Exception) -> Response:
        return page_not_found()

    app.add_exception_handler(HTTPException, stray)
