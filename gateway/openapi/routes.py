"""The routes under /openapi/v3: the index, and the documents, which clients may keep as long as their address."""

from __future__ import annotations

import asyncio
from email.utils import formatdate
from time import time

from fastapi import APIRouter, Request, Response

from gateway.openapi.documents import ROOT, Documents
from gateway.resources.registry import Registry

METHODS = ["GET", "HEAD"]
_YEAR = 365 * 24 * 3600
_JSON = "application/json"


def openapi(registry: Registry) -> APIRouter:
    """The router; documents are made from `registry` when they are first asked for."""
    router = APIRouter()
    documents: list[Documents] = []

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

    router.add_api_route(ROOT, index, methods=METHODS, include_in_schema=False, response_model=None)
    router.add_api_route(
        f"{ROOT}/{{place:path}}", document, methods=METHODS, include_in_schema=False, response_model=None
    )
    return router
