"""Serves discovery: legacy documents at their paths, and the aggregated one if the Accept header asks for it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gateway.discovery.documents import AGGREGATED_API_VERSION, aggregated_documents, groups_of, legacy_documents
from gateway.discovery.others import ExtensionGroups
from gateway.encodings import pretty_json, protobuf, yaml
from gateway.encodings.rendering_process import RenderingProcess
from gateway.endpoints.routing import method_not_allowed, unknown_path
from gateway.http.exchange import Request, Response
from gateway.http.negotiation import (
    STANDARD,
    Negotiator,
    literally_acceptable,
    names,
    not_acceptable,
    parse_accept,
    unacceptable,
)
from gateway.jsontypes import loads
from gateway.kinds.registry import Registry
from gateway.schema.catalog import META, type_of

AGGREGATED_TYPE = b";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_AGGREGATED = {"g": "apidiscovery.k8s.io", "v": "v2", "as": "APIGroupDiscoveryList"}
_AGGREGATED_MESSAGE = "io.k8s.api.apidiscovery.v2.APIGroupDiscoveryList"
_NOT_MODIFIED = 304
_NAMED = b'{"kind":"APIGroupDiscoveryList","apiVersion":"%b",' % AGGREGATED_API_VERSION.encode()
_STRICT = ("/api", "/apis/apiregistration.k8s.io")  # the only roots and groups where methods other than GET are refused
_YAML = "application/yaml"
_LONG_IN_YAML = 8 * 1024  # bytes of JSON, from which on another process writes the YAML


class Choice(NamedTuple):
    """The form in which a document is answered."""

    media_type: str
    aggregated: bool = False
    pretty: bool = False


class Discovery:
    """The discovery documents; they are made again after the served resources have changed."""

    def __init__(
        self,
        registry: Registry,
        server_address: str,
        media: Negotiator = STANDARD,
        others: ExtensionGroups | None = None,
    ) -> None:
        """`media` negotiates the documents of built-in group versions; those of custom ones are never in CBOR. `others`
        knows extension API servers.
        """
        self._media, self._others = media, others
        self._registry, self._address = registry, server_address
        self._builtin = registry.builtin_groups() & registry.groups.keys()
        self._stale = True
        self._legacy: dict[str, bytes] = {}
        self._aggregated: dict[str, bytes] = {}
        self._etags: dict[str, bytes] = {}
        self._made: dict[tuple[str, Choice], bytes] = {}

    def refresh(self) -> None:
        """Drops the documents, because the served resources have changed: the next request makes new ones."""
        self._stale = True

    def _bring_up_to_date(self) -> None:
        if not self._stale:
            return
        groups = groups_of(self._registry)
        self._legacy = legacy_documents(groups, self._address, self._others)
        self._aggregated = aggregated_documents(groups, self._others)
        self._made = {}
        self._etags = {path: b'"%b"' % _digest(document) for path, document in self._aggregated.items()}
        self._stale = False

    def paths(self) -> list[str]:
        """The documents' paths, for the list of paths at /; with those of extension API servers."""
        self._bring_up_to_date()
        versions = [version for group in loads(self._legacy["/apis"])["groups"] for version in group["versions"]]
        return [*self._legacy, *(f"/apis/{version['groupVersion']}" for version in versions)]

    async def respond(self, request: Request, apart: RenderingProcess) -> Response | None:
        """The answer to a request for a discovery path, None for any other; raises StatusError 404, 405 or 406.

        `apart` renders long documents in another process.
        """
        path = request.path.rstrip("/")
        if request.path.startswith("/apis//"):
            return None
        self._bring_up_to_date()
        document = self._legacy.get(path)
        if document is None:
            return self._absent(path)
        resources = path.startswith("/api/") or path.count("/") == 3  # the documents of group versions
        # /apis and /apis/GROUP are answered whatever the method, and so are versions of custom groups
        custom = resources and self._is_custom(path)
        strictly = not custom if resources else path in _STRICT
        if strictly and request.method != "GET":
            raise method_not_allowed()
        accept = request.headers.get(b"accept", b"").decode("latin-1")
        request.media = STANDARD if custom else self._media if resources else self._media.of_documents
        aggregated = path in self._aggregated and request.path != "/apis/"
        choice = _choose(accept, aggregated, request.media.types, strictly)
        if choice.aggregated:
            return await self._respond_aggregated(request, path, choice, apart)
        choice = choice._replace(pretty=choice.pretty or request.human)
        content = await self._encoded(path, document, choice, apart)
        return Response(200, content, choice.media_type.encode(), encoded=True)

    def _is_custom(self, path: str) -> bool:
        """Whether a path is of a group with custom resources alone, whose documents answer any method."""
        return path.startswith("/apis/") and path.split("/")[2] not in self._builtin

    def _absent(self, path: str) -> Response | None:
        """Raises StatusError 404 below /api and below built-in groups. None for other paths: others may serve them."""
        match path.split("/"):
            case ["", "api", *_]:
                raise unknown_path()
            case ["", "apis", group, _, *_] if group and group in self._builtin:
                raise unknown_path()
        return None

    async def _respond_aggregated(
        self, request: Request, path: str, choice: Choice, apart: RenderingProcess
    ) -> Response:
        etag = self._etags[path]  # the same in all encodings, as kube-apiserver's
        headers = [(b"etag", etag), (b"vary", b"Accept")]
        content_type = choice.media_type.encode() + AGGREGATED_TYPE
        if request.headers.get(b"if-none-match") == etag:
            return Response(_NOT_MODIFIED, b"", b"", headers, b"public")
        choice = choice._replace(pretty=choice.pretty or request.human)
        content = await self._encoded(path, self._aggregated[path], choice, apart)
        return Response(200, content, content_type, headers, b"public", encoded=True)

    async def _encoded(self, path: str, document: bytes, choice: Choice, apart: RenderingProcess) -> bytes:
        """A document in the chosen encoding, made when it is first asked for."""
        kept = self._made
        known = kept.get((path, choice))
        if known is None:
            if choice.media_type == _YAML and len(document) > _LONG_IN_YAML:
                known = await apart.yaml(document)
            else:
                known = _encode(document, choice)
            kept[path, choice] = known
        return known


def _encode(document: bytes, choice: Choice) -> bytes:
    if choice.media_type == protobuf.MEDIA_TYPE:
        obj = loads(document)
        type_ = type_of(_AGGREGATED_MESSAGE if choice.aggregated else META + obj["kind"])
        return protobuf.answer(obj.get("apiVersion", ""), obj["kind"], protobuf.message(type_, obj))
    if choice.media_type == "application/cbor":
        from gateway.encodings import cbor

        return cbor.answer(cbor.content(loads(document), None))
    if choice.media_type == _YAML:
        return yaml.to_yaml(document)
    return pretty_json.indent(document) if choice.pretty else document


def _choose(accept: str, aggregated: bool, types: Sequence[str], literally: bool) -> Choice:
    """The form that the best usable clause of an Accept header asks for, among `types`. Raises StatusError 406.

    A clause that asks for the aggregated document comes before all others, whatever their order and quality.
    `aggregated` says whether the path has an aggregated document, `literally` whether a clause has to be `*/*` or one
    of the types.
    """
    if literally and not literally_acceptable(accept, types):
        raise unacceptable(types)
    if not accept:
        return Choice(types[0])
    legacy = None
    for clause in parse_accept(accept):
        for media_type in types:
            if names(clause, media_type) and _honoured(clause.params, media_type):
                wanted = {name: clause.params[name] for name in _AGGREGATED if name in clause.params}
                choice = Choice(media_type, bool(wanted), clause.params.get("pretty") == "1")
                if aggregated and wanted == _AGGREGATED:
                    return choice
                if not wanted and legacy is None:
                    legacy = choice
    if legacy is None:
        raise not_acceptable(types)
    return legacy


def _honoured(params: Mapping[str, str], media_type: str) -> bool:
    """Whether the other parameters of a clause (`sv`, `stream`) can be honoured; YAML is not streamed."""
    stream = params.get("stream")
    return not params.get("sv") and (not stream or (stream == "watch" and media_type != "application/yaml"))


def _digest(document: bytes) -> bytes:
    """The hash of an aggregated document. kube-apiserver takes it before the list gets its kind and its version."""
    return hashlib.sha512(document.replace(_NAMED, b"{", 1).rstrip(b"\n")).hexdigest().upper().encode()
