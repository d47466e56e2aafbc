"""Serving discovery: legacy documents at their paths, the aggregated one where the Accept header prefers it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from gateway.discovery.documents import aggregated_documents, groups_of, legacy_documents
from gateway.endpoints.routing import method_not_allowed, unknown_path
from gateway.http.exchange import Request, Response
from gateway.http.negotiation import (
    JSON,
    MEDIA_TYPES,
    literally_acceptable,
    matches,
    negotiate,
    not_acceptable,
)
from gateway.kinds.registry import Registry, builtin_groups

AGGREGATED_TYPE = b";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_AGGREGATED = {"g": "apidiscovery.k8s.io", "v": "v2", "as": "APIGroupDiscoveryList"}
_NOT_MODIFIED = 304


@dataclass(frozen=True, slots=True)
class _Made:
    """The documents by path."""

    legacy: dict[str, bytes]
    aggregated: dict[str, bytes]
    etags: dict[str, bytes]


class Discovery:
    """The documents of what is served; made anew when that changes."""

    def __init__(self, registry: Registry, server_address: str) -> None:
        self._registry, self._server_address = registry, server_address
        self._builtin = builtin_groups(registry)
        self._made: _Made | None = None

    def forget(self) -> None:
        """What is served has changed: the documents are made anew when they are next asked for."""
        self._made = None

    @property
    def _documents(self) -> _Made:
        if self._made is None:
            groups = groups_of(self._registry)
            aggregated = aggregated_documents(groups)
            etags = {path: b'"%b"' % _digest(document) for path, document in aggregated.items()}
            self._made = _Made(legacy_documents(groups, self._server_address), aggregated, etags)
        return self._made

    def paths(self) -> list[str]:
        """The documents' paths, for the list of paths at /."""
        return list(self._documents.legacy)

    def respond(self, request: Request) -> Response | None:
        """The answer to a request for a discovery path, None for any other; raises StatusError 404, 405 or 406."""
        path = request.path.rstrip("/")
        document = self._documents.legacy.get(path)
        if document is None:
            return self._absent(path)
        # /apis and /apis/GROUP are answered whatever the method
        if request.method != "GET" and (path.startswith("/api/") or path == "/api" or path.count("/") == 3):
            raise method_not_allowed()
        accept = request.headers.get(b"accept", b"")
        if path in self._documents.aggregated:
            aggregated = _prefers_aggregated(accept.decode("latin-1"))
            if aggregated is not None:
                return self._respond_aggregated(request, path, aggregated)
        request.representation = negotiate(accept, "")
        return Response(200, document)

    def _absent(self, path: str) -> Response | None:
        """404 Status below a served prefix; what is under no served group is nobody's."""
        match path.split("/"):
            case ["", "api", *_]:
                raise unknown_path()
            case ["", "apis", group, _, *_] if group in self._builtin:
                raise unknown_path()
        return None

    def _respond_aggregated(self, request: Request, path: str, media_type: str) -> Response:
        etag = self._documents.etags[path]
        headers = [(b"etag", etag), (b"vary", b"Accept")]
        content_type = media_type.encode() + AGGREGATED_TYPE
        if request.headers.get(b"if-none-match") == etag:
            return Response(_NOT_MODIFIED, b"", content_type, headers, b"public")
        return Response(200, self._documents.aggregated[path], content_type, headers, b"public")


def _prefers_aggregated(accept: str) -> str | None:
    """The media type in which the header's best clause that can be honoured asks for the aggregated document.

    None when it asks for the legacy one; raises StatusError 406 when it asks for neither.
    """
    if not accept or not literally_acceptable(accept, MEDIA_TYPES):
        return None
    for media, params in matches(accept):
        asked = {name: params[name] for name in ("g", "v", "as") if name in params}
        if asked == _AGGREGATED and media is JSON.media:
            return media.name
        if not asked:
            return None
    raise not_acceptable(MEDIA_TYPES)


def _digest(document: bytes) -> bytes:
    return hashlib.sha512(document).hexdigest().upper().encode()
