"""The routes under /openapi: version 3's index and documents, which clients may keep forever, and version 2.

Each has its own set of media types, and 406 without a body for what is not among them, as kube-apiserver has.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from email.utils import formatdate
from time import time

from gateway.http.compression import accepts_gzip, gzip
from gateway.http.negotiation import parse_accept
from gateway.http.thread_pool import beside
from gateway.kinds.registry import Registry
from gateway.openapi.documents import ROOT, Documents
from gateway.openapi.gnostic import PROTOBUF, PROTOBUF_BEFORE
from gateway.openapi.others import Others
from gateway.openapi.version2_latest import LatestVersion2
from gateway.operations.framework import APIRouter, Request, Response
from gateway.operations.ranges import part_of

METHODS = ["GET", "HEAD"]
_YEAR = 365 * 24 * 3600
_JSON = "application/json"
_INDEX = "text/plain; charset=utf-8"  # what kube-apiserver says of its index, which is JSON
_VARY = {"vary": "Accept"}
_PASSED = ("accept", "if-none-match")


def openapi(
    registry: Registry, on_change: Callable[[Callable[[], None]], None], others: Others | None = None
) -> APIRouter:
    """The router; documents are made from `registry` when they are first asked for, and again after each change.

    `others` knows the documents of other servers.
    """
    router = APIRouter()
    documents: list[Documents] = []
    latest_2 = LatestVersion2(registry, others)
    if others is not None:
        others.on_change(latest_2.forget)
    on_change(documents.clear)
    on_change(latest_2.forget)

    def made() -> Documents:
        if not documents:
            documents.append(Documents(registry))
        return documents[0]

    async def index(request: Request) -> Response:
        return part_of(request, made().index({} if others is None else others.places()), _INDEX, {})

    async def document(request: Request) -> Response:
        place = request.path_params["place"]
        if others is not None:
            passed = {name: request.headers[name] for name in _PASSED if name in request.headers}
            if (other := await others.document(place, request.url.query, passed)) is not None:
                return Response(other.body, other.status, dict(other.headers))
        media_type = chosen(request.headers.get("accept", ""), _served(3))
        found = await asyncio.to_thread(made().document, place, media_type not in (None, _JSON))
        if found is None:
            return Response(None, 404)
        if media_type is None:
            return Response(None, 406, _VARY)
        wanted = made().hash_of(place)
        asked = request.query_params.get("hash")
        if asked and asked != wanted:
            return Response(None, 301, {"location": f"{ROOT}/{place}?hash={wanted}"})
        headers = {"etag": f'"{wanted}"', "vary": "Accept"}
        if asked:
            headers |= {"cache-control": "public, immutable", "expires": formatdate(time() + _YEAR, usegmt=True)}
        if request.headers.get("if-none-match") == headers["etag"]:
            return Response(None, 304, headers)
        return part_of(request, found, media_type, headers)

    async def version_2(request: Request) -> Response:
        answer = await _version_2(request)
        answer.headers.append("vary", "Accept-Encoding")
        return answer

    async def _version_2(request: Request) -> Response:
        media_type = chosen(request.headers.get("accept", ""), _served(2))
        if media_type is None:
            return Response(None, 406, _VARY)
        found, tag = await latest_2.document(protobuf=media_type != _JSON)
        headers = {"etag": f'"{tag}"', **_VARY}
        if request.headers.get("if-none-match") == headers["etag"]:
            return Response(None, 304, headers)
        if "range" not in request.headers and accepts_gzip(
            request.headers.get("accept-encoding", "").encode("latin-1")
        ):
            packed = await beside(lambda: b"".join(gzip((found,))))
            headers |= {"content-encoding": "gzip", "accept-ranges": "bytes"}
            return Response(packed, headers=headers, media_type=media_type)
        return part_of(request, found, media_type, headers)

    router.add_route("/openapi/v2", version_2, methods=METHODS)
    router.add_route(ROOT, index, methods=METHODS)
    router.add_route(f"{ROOT}/{{place:path}}", document, methods=METHODS)
    return router


def _served(version: int) -> dict[str, str]:
    """What an Accept header may name for a document, and what is answered."""
    protobuf = PROTOBUF.format(version=version)
    return {_JSON: _JSON, PROTOBUF_BEFORE.format(version=version): protobuf, protobuf: protobuf}


def chosen(accept: str, served: Mapping[str, str]) -> str | None:
    """The content type for an Accept header; `served` maps what it may name to what is answered, the usual first."""
    for clause in parse_accept(accept or "*/*"):
        for media_type, answered in served.items():
            type_, _, subtype = media_type.partition("/")
            if clause.type in (type_, "*") and clause.subtype in (subtype, "*"):
                return answered
    return None
