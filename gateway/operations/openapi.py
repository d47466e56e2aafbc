"""The routes under /openapi: the index and documents of version 3, and version 2.

Clients may cache a version 3 document forever if they request it with its hash. Each route has its own set of media
types, and answers others with 406 and no body, as kube-apiserver does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from email.utils import formatdate
from functools import partial
from time import time

from gateway.http.compression import accepts_gzip, gzip
from gateway.http.negotiation import parse_accept
from gateway.http.thread_pool import beside
from gateway.jsontypes import loads
from gateway.kinds.registry import Registry
from gateway.openapi.documents import ROOT, Documents
from gateway.openapi.gnostic import PROTOBUF, PROTOBUF_BEFORE, gnostic
from gateway.openapi.others import ExtensionDocuments
from gateway.openapi.version2_latest import LatestVersion2
from gateway.operations.conditions import dated, unmet
from gateway.operations.framework import ANY_METHOD, APIRouter, Request, Response
from gateway.operations.ranges import part_of

_YEAR = 365 * 24 * 3600
_JSON = "application/json"
_INDEX = "text/plain; charset=utf-8"  # kube-apiserver's type for its index, although it is JSON
_VARY = {"vary": "Accept"}
_PASSED = ("accept", "if-none-match")


def openapi(
    registry: Registry, on_change: Callable[[Callable[[], None]], None], others: ExtensionDocuments | None = None
) -> APIRouter:
    """The router. Documents are made from `registry` at their first request, and again after each change.

    `others` has the documents of aggregated API servers.
    """
    answers, router = _Answers(registry, others), APIRouter()
    on_change(answers.forget)
    router.add_route("/openapi/v2", answers.version_2, methods=ANY_METHOD)
    router.add_route(ROOT, answers.index, methods=ANY_METHOD)
    router.add_route(f"{ROOT}/{{place:path}}", answers.document, methods=ANY_METHOD)
    return router


class _Answers:
    """Answers requests for the documents of both versions."""

    def __init__(self, registry: Registry, others: ExtensionDocuments | None) -> None:
        self._registry, self._others = registry, others
        self._documents: list[Documents] = []  # empty, or one after the first request
        self._latest_2, self._changed = LatestVersion2(registry, others), time()
        if others is not None:
            others.on_change(self._forget_version_2)

    def forget(self) -> None:
        """Drops all documents, because the served resources have changed."""
        self._documents.clear()
        self._forget_version_2()

    def _forget_version_2(self) -> None:
        self._changed = time()
        self._latest_2.forget()

    def _made(self) -> Documents:
        if not self._documents:
            self._documents.append(Documents(self._registry))
        return self._documents[0]

    async def index(self, request: Request) -> Response:
        made = self._made()
        others = {} if self._others is None else self._others.places(made.places)
        now = time()  # kube-apiserver makes the index anew for each request
        # Dates have whole seconds: a client that asked in the second of a change may have the index before it.
        made_at = now + 1 if now - self._changed < 1 else now
        left = unmet(request, {}, _INDEX, made_at)
        return left or part_of(request, await asyncio.to_thread(made.index, others), _INDEX, dated({}, now))

    async def document(self, request: Request) -> Response:
        place = request.path_params["place"]
        if self._others is not None:
            passed = {name: request.headers[name] for name in _PASSED if name in request.headers}
            served = place in self._made().places
            if (converted := self._others.converted(place, served)) is not None:
                content = partial(_encoded, converted.content)
                return await self._version_3(request, place, content, converted.hash, converted.made)
            if (other := await self._others.document(place, request.url.query, passed, served)) is not None:
                return Response(other.body, other.status, dict(other.headers))
        made = self._made()
        return await self._version_3(request, place, partial(made.document, place), made.hash_of(place), self._changed)

    async def _version_3(
        self, request: Request, place: str, content: Callable[[bool], bytes | None], wanted: str, changed: float
    ) -> Response:
        """The answer with a document: `content` returns its bytes, for True in protobuf; `wanted` is its hash, and
        `changed` the time of its last change.
        """
        media_type = chosen(request.headers.get("accept", ""), _served(3))
        found = await asyncio.to_thread(content, media_type not in (None, _JSON))
        if found is None:
            return Response(None, 404)
        if media_type is None:
            return Response(None, 406, _VARY)
        asked = request.query_params.get("hash")
        headers = {"etag": f'"{wanted}"', "vary": "Accept"}
        if asked and asked != wanted:
            return Response(None, 301, {**headers, "location": f"{ROOT}/{place}?hash={wanted}"}, media_type)
        if asked:
            headers |= {"cache-control": "public, immutable", "expires": formatdate(time() + _YEAR, usegmt=True)}
        left = unmet(request, headers, media_type, changed)
        return left or part_of(request, found, media_type, dated(headers, changed))

    async def version_2(self, request: Request) -> Response:
        answer = await self._version_2(request)
        answer.headers.append("vary", "Accept-Encoding")
        return answer

    async def _version_2(self, request: Request) -> Response:
        media_type = chosen(request.headers.get("accept", ""), _served(2))
        if media_type is None:
            return Response(None, 406, _VARY)
        found, tag = await self._latest_2.document(protobuf=media_type != _JSON)
        headers = {"etag": f'"{tag}"', **_VARY}
        if (left := unmet(request, headers, media_type, self._changed)) is not None:
            return left
        headers = dated(headers, self._changed)
        if "range" not in request.headers and accepts_gzip(
            request.headers.get("accept-encoding", "").encode("latin-1")
        ):
            packed = await beside(lambda: b"".join(gzip((found,))))
            headers |= {"content-encoding": "gzip", "accept-ranges": "bytes"}
            return Response(packed, headers=headers, media_type=media_type)
        return part_of(request, found, media_type, headers)


def _encoded(content: bytes, protobuf: bool) -> bytes | None:
    """Another server's document, as JSON or protobuf; None if protobuf can't represent it."""
    try:
        return gnostic(3).document(loads(content)) if protobuf else content
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _served(version: int) -> dict[str, str]:
    """The media types that an Accept header may name for a document, each with the content type of the answer."""
    protobuf = PROTOBUF.format(version=version)
    return {_JSON: _JSON, PROTOBUF_BEFORE.format(version=version): protobuf, protobuf: protobuf}


def chosen(accept: str, served: Mapping[str, str]) -> str | None:
    """The content type for an Accept header; None if it accepts none of `served` (`_served`), the default first."""
    for clause in parse_accept(accept or "*/*"):
        for media_type, answered in served.items():
            type_, _, subtype = media_type.partition("/")
            if clause.type in (type_, "*") and clause.subtype in (subtype, "*"):
                return answered
    return None
