"""The routes under /openapi: version 3's index and documents, which clients may keep forever, and version 2."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from email.utils import formatdate
from time import time

from fastapi import APIRouter, Request, Response

from gateway.kinds.registry import Registry
from gateway.openapi.documents import ROOT, Documents

METHODS = ["GET", "HEAD"]
_YEAR = 365 * 24 * 3600
_JSON = "application/json"


def openapi(registry: Registry, on_change: Callable[[Callable[[], None]], None]) -> APIRouter:
    """The router; documents are made from `registry` when they are first asked for, and again after each change."""
    router = APIRouter()
    documents: list[Documents] = []
    made_2: dict[str, bytes] = {}  # version 2, by media type

    def forget() -> None:
        documents.clear()
        made_2.clear()

    on_change(forget)

    def made() -> Documents:
        if not documents:
            documents.append(Documents(registry))
        return documents[0]

    async def index() -> Response:
        return Response(made().index(), media_type=_JSON)

    async def document(place: str, request: Request) -> Response:
        found = await asyncio.to_thread(made().document, place)
        if found is None:
            return Response("404 page not found\n", 404, media_type="text/plain")
        wanted = made().hash_of(place)
        asked = request.query_params.get("hash")
        if asked and asked != wanted:
            return Response(None, 301, {"location": f"{ROOT}/{place}?hash={wanted}"})
        headers = {"etag": f'"{wanted}"', "vary": "Accept"}
        if asked:
            headers |= {"cache-control": "public, immutable", "expires": formatdate(time() + _YEAR, usegmt=True)}
        if request.headers.get("if-none-match") == headers["etag"]:
            return Response(None, 304, headers)
        return Response(found, headers=headers, media_type=_JSON)

    async def version_2(request: Request) -> Response:
        from gateway.openapi import version2

        media_type = version2.PROTOBUF if "protobuf" in request.headers.get("accept", "") else _JSON
        if media_type not in made_2:
            make = version2.json_document if media_type == _JSON else version2.protobuf_document
            made_2[media_type] = await asyncio.to_thread(make, registry)
        content = made_2[media_type]
        headers = {"etag": f'"{hashlib.sha512(content).hexdigest().upper()}"', "vary": "Accept"}
        if request.headers.get("if-none-match") == headers["etag"]:
            return Response(None, 304, headers)
        return Response(content, headers=headers, media_type=media_type)

    router.add_api_route("/openapi/v2", version_2, methods=METHODS, include_in_schema=False, response_model=None)
    router.add_api_route(ROOT, index, methods=METHODS, include_in_schema=False, response_model=None)
    router.add_api_route(
        f"{ROOT}/{{place:path}}", document, methods=METHODS, include_in_schema=False, response_model=None
    )
    return router
