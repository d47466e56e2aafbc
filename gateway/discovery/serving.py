"""Serving discovery: legacy documents at their paths, the aggregated one where the Accept header prefers it."""

from __future__ import annotations

import hashlib

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
from gateway.kinds.registry import Registry

AGGREGATED_TYPE = b";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_AGGREGATED = {"g": "apidiscovery.k8s.io", "v": "v2", "as": "APIGroupDiscoveryList"}
_NOT_MODIFIED = 304


class Discovery:
    """The documents of what is served; made anew when that changes."""

    def __init__(self, registry: Registry, server_address: str) -> None:
        groups = groups_of(registry)
        self._groups = frozenset(groups)
        self._legacy = legacy_documents(groups, server_address)
        self._aggregated = aggregated_documents(groups)
        self._etags = {path: b'"%b"' % _digest(document) for path, document in self._aggregated.items()}

    def serves_group(self, group: str) -> bool:
        """Whether some version of the group is served ("" is the core group)."""
        return group in self._groups

    def paths(self) -> list[str]:
        """The documents' paths, for the list of paths at /."""
        return list(self._legacy)

    def respond(self, request: Request) -> Response | None:
        """The answer to a request for a discovery path, None for any other; raises StatusError 404, 405 or 406."""
        path = request.path.rstrip("/")
        document = self._legacy.get(path)
        if document is None:
            return self._absent(path)
        # /apis and /apis/GROUP are answered whatever the method
        if request.method != "GET" and (path.startswith("/api/") or path == "/api" or path.count("/") == 3):
            raise method_not_allowed()
        accept = request.headers.get(b"accept", b"")
        if path in self._aggregated:
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
            case ["", "apis", group, _, *_] if group in self._groups:
                raise unknown_path()
        return None

    def _respond_aggregated(self, request: Request, path: str, media_type: str) -> Response:
        etag = self._etags[path]
        headers = [(b"etag", etag), (b"vary", b"Accept")]
        content_type = media_type.encode() + AGGREGATED_TYPE
        if request.headers.get(b"if-none-match") == etag:
            return Response(_NOT_MODIFIED, b"", content_type, headers, b"public")
        return Response(200, self._aggregated[path], content_type, headers, b"public")


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
