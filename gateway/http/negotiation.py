"""Content negotiation: chooses a representation by the Accept header (API Concepts, "Alternate representations of
resources").

Two rules apply one after the other, as in kube-apiserver. First, some clause must be exactly a served media type, or
`*/*`. Then the best clause counts whose parameters the server supports.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from gateway.http.status import StatusError, unsupported_media_type
from gateway.memo import Memory

META_GROUP = "meta.k8s.io"
_META_VERSIONS = ("v1", "v1beta1")
TABLE, PARTIAL, PARTIAL_LIST = "Table", "PartialObjectMetadata", "PartialObjectMetadataList"

_HUMANS = (b"curl", b"Wget", b"Mozilla/5.0")
_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_REPRESENTATION = 500  # bytes of a cached result
MEMORABLE = 256  # bytes of a header whose result is cached; those of usual clients are shorter
_LONGEST = 64 * 1024  # characters of a header that are read
_LONGEST_TYPE = 4096  # bytes of a body's media type with its parameters
_CLAUSES = 4096  # clauses of a header that are read
_PARAMETERS = 16  # parameters of a clause that are read
_TOKEN = r"[!#$%&'*+.^_`{|}~0-9A-Za-z-]+"
_parameter = re.compile(rf'\s*({_TOKEN})\s*=\s*({_TOKEN}|"(?:[^"\\\r\n]|\\.)*")\s*', re.ASCII).match
_ESCAPED = re.compile(r"\\(.)")
_INSERTED = 12  # clauses; up to so many, Go sorts by insertion


@dataclass(frozen=True, slots=True)
class MediaType:
    """A media type of answers. `stream` is the content type of its watches; None if it has none."""

    name: str
    stream: bytes | None = None
    advertised: str = ""  # the name of `stream` in error messages


class Transform(NamedTuple):
    """The kind of meta.k8s.io to which an answer is converted, and its version: the parameters `as`, `g` and `v`."""

    kind: str  # TABLE, PARTIAL or PARTIAL_LIST
    version: str
    include: str = "Metadata"  # the object in each row of a Table (the query parameter includeObject)


@dataclass(frozen=True, slots=True)
class Representation:
    """The format of an answer: the media type, whether it is indented, and the kind to which it is converted."""

    media: MediaType
    content_type: bytes
    pretty: bool = False
    transform: Transform | None = None

    def prettied(self) -> Representation:
        """The indented form of the representation."""
        return self if self.pretty else _PRETTY_JSON if self is JSON else replace(self, pretty=True)


@dataclass(slots=True)
class Clause:
    """One clause of an Accept header."""

    type: str
    subtype: str
    quality: float = 1.0
    params: dict[str, str] = field(default_factory=dict)


_TYPE = "application"  # the type of all served media types
_JSON = MediaType("application/json", b"application/json", "application/json;stream=watch")
YAML = MediaType("application/yaml")
_PROTOBUF_STREAM = "application/vnd.kubernetes.protobuf;stream=watch"
PROTOBUF = MediaType("application/vnd.kubernetes.protobuf", _PROTOBUF_STREAM.encode(), _PROTOBUF_STREAM)
CBOR = MediaType("application/cbor", b"application/cbor-seq", "application/cbor-seq")

JSON = Representation(_JSON, b"application/json")
_PRETTY_JSON = replace(JSON, pretty=True)
NO_STREAM = b""
_COLLECTION_VERBS = frozenset({"list", "watch"})
_FAILURE = "failure"  # takes the place of the verb in the cache keys of `for_status`


class Negotiator:
    """Negotiates among the `served` media types; a client without preference gets the first.

    `types` are their names, also for request bodies; `streams` are the names for watches. For `custom` kinds the first
    of the two rules does not apply, and protobuf is possible only for converted metadata. With `passing`, for answers
    of other servers, nothing is negotiated. `of_documents` negotiates documents, and errors before a resource is found;
    it is `documents`, or the negotiator itself.
    """

    def __init__(
        self,
        served: Sequence[MediaType],
        custom: bool = False,
        passing: bool = False,
        documents: Negotiator | None = None,
    ) -> None:
        self.served, self._custom, self.passing = served, custom, passing
        self.of_custom = self if custom or passing else Negotiator(served, custom=True)
        self.of_others = self if custom or passing else Negotiator(served, passing=True)
        self.of_documents = documents or self
        self.types = tuple(media.name for media in served)
        self.has_cbor = CBOR in served
        self._subtypes = tuple((media, media.name.removeprefix(f"{_TYPE}/")) for media in served)
        self.streams = tuple(media.advertised for media in served if media.advertised)
        self._memo: Memory[tuple[bytes, str], Representation] = Memory(1 << 20)

    def negotiate(self, accept: bytes, verb: str) -> Representation:
        """The representation for an Accept header's value (b"" without the header). Raises StatusError 406.

        `verb` counts only if it is "list" or "watch": error messages differ, and watches are streams. For a watch, a
        media type without streams has the content type NO_STREAM: `require_stream` refuses it later, as kube-apiserver
        finds errors of the options first. Results for short headers are cached.
        """
        if self.passing:
            return JSON
        kind = verb if verb in _COLLECTION_VERBS else ""
        found = self._memo.get((accept, kind))
        if found is None:
            found = self._negotiate(accept.decode("latin-1"), kind)
            self._remember(accept, kind, found)
        return found

    def require_stream(self, wanted: Representation) -> None:
        """Raises NotHonoured (406) if the representation of a watch has no streams."""
        if wanted.content_type == NO_STREAM and not self.passing:
            raise not_acceptable(self.streams)

    def _remember(self, accept: bytes, kind: str, found: Representation) -> None:
        if len(accept) <= MEMORABLE:
            self._memo.keep((accept, kind), found, _REPRESENTATION + len(accept))

    def _negotiate(self, accept: str, kind: str) -> Representation:
        produced = self.types + self.streams if kind else self.types
        if not self._custom and not literally_acceptable(accept, produced):
            raise unacceptable(produced)
        stream = kind == "watch"
        for media, params in self._matches(accept):
            if _honours(media, params, stream) and not (self._custom and media is PROTOBUF and "as" not in params):
                content_type = (media.stream or NO_STREAM) if stream else media.name.encode()
                pretty = params.get("pretty") == "1" and not stream
                transform = _transform(params)
                if media is JSON.media and not pretty and transform is None:
                    return JSON
                return Representation(media, content_type, pretty, transform)
        raise not_acceptable(self.types)

    def for_status(self, accept: bytes) -> Representation:
        """The representation of a Status for an Accept header's value. A Status is never converted to another kind; if
        all clauses ask for one, it is indented JSON.
        """
        known = self._memo.get((accept, _FAILURE))
        if known is None:
            known = self._for_status(accept.decode("latin-1"))
            self._remember(accept, _FAILURE, known)
        return known

    def _for_status(self, accept: str) -> Representation:
        for media, params in self._matches(accept):
            if _TRANSFORMING.isdisjoint(params) and not params.get("sv") and _honours(media, params, False):
                found = JSON if media is JSON.media else Representation(media, media.name.encode())
                return found.prettied() if params.get("pretty") == "1" else found
        return _PRETTY_JSON

    def _matches(self, accept: str) -> Iterable[tuple[MediaType, Mapping[str, str]]]:
        """The media types that the header accepts, the preferred first, with their parameters; all for an empty one."""
        if not accept:
            yield from ((media, {}) for media in self.served)
        for clause in parse_accept(accept):
            if clause.type not in ("*", _TYPE):
                continue
            for media, subtype in self._subtypes:
                if clause.subtype in (subtype, "*") and (clause.type == _TYPE or clause.subtype == "*"):
                    yield media, clause.params

    def body_type(self, content_type: bytes) -> str:
        """The media type of a Content-Type header; "application/json" without one. Raises StatusError 415."""
        if content_type in (b"", b"application/json"):
            return self.types[0]
        if len(content_type) > _LONGEST_TYPE:
            raise unsupported_body(self.types)
        media, _, parameters = content_type.decode("latin-1").partition(";")
        media_type = media.strip().lower()
        if media_type not in self.types or not _well_formed(parameters):
            raise unsupported_body(self.types)
        return media_type


STANDARD = Negotiator((_JSON, YAML, PROTOBUF))
WITH_CBOR = Negotiator((*STANDARD.served, CBOR))
RESOURCES_IN_CBOR = Negotiator(WITH_CBOR.served, documents=STANDARD)


def names(clause: Clause, media_type: str) -> bool:
    """Whether a clause accepts a media type; parameters do not count."""
    type_, _, subtype = media_type.partition("/")
    return (clause.type == type_ and clause.subtype in (subtype, "*")) or clause.type == clause.subtype == "*"


def _honours(media: MediaType, params: Mapping[str, str], stream: bool) -> bool:
    if params.get("sv", "v1") not in ("v1", ""):
        return False
    if not _TRANSFORMING.isdisjoint(params) and not _transforms(media, params):
        return False
    streamed = params.get("stream")
    return not streamed or (streamed == "watch" and media.stream is not None)


_TRANSFORMING = frozenset({"as", "g", "v"})


def _transforms(media: MediaType, params: Mapping[str, str]) -> bool:
    """Whether a media type supports the wanted conversion: binary ones have no Tables."""
    if params.get("g") != META_GROUP or params.get("v") not in _META_VERSIONS:
        return False
    kind = params.get("as")
    return kind in (PARTIAL, PARTIAL_LIST) or (kind == TABLE and media not in (PROTOBUF, CBOR))


def _transform(params: Mapping[str, str]) -> Transform | None:
    return Transform(params["as"], params["v"]) if "as" in params else None


def literally_acceptable(accept: str, produced: Iterable[str]) -> bool:
    """Whether some clause, without its parameters, is `*/*` or one of `produced`."""
    if not accept:
        return True
    types = {clause.partition(";")[0].strip(" ") for clause in _clauses(accept)}
    return "*/*" in types or not types.isdisjoint(produced)


def parse_accept(header: str) -> list[Clause]:
    """The clauses of an Accept header, the preferred first, without malformed clauses and those beyond a limit."""
    clauses = []
    parts = _clauses(header)
    if len(parts) > _INSERTED:
        parts = list(dict.fromkeys(parts))
    for part in parts:
        media, *params = part.strip(" ").split(";", _PARAMETERS + 1)[: _PARAMETERS + 1]
        type_, _slash, subtype = (piece.strip(" ") for piece in media.partition("/"))
        if not subtype and type_ == "*":
            subtype = "*"
        if not subtype or "/" in subtype:
            continue
        clause = Clause(type_, subtype)
        for param in params:
            name, _, value = param.partition("=")
            if not value or "=" in value:
                continue
            if name.strip(" ") == "q":
                clause.quality = _quality(value)
            else:
                clause.params[name.strip(" ")] = value.strip(" ")
        clauses.append(clause)
    return _by_preference(clauses)


def _clauses(header: str) -> list[str]:
    """The texts of a header's clauses, up to the limits."""
    if len(header) > _LONGEST:
        header = header[:_LONGEST].rpartition(",")[0]
    return header.split(",", _CLAUSES)[:_CLAUSES]


def _quality(value: str) -> float:
    try:
        return float(value)
    except ValueError:
        return 0.0


def _by_preference(clauses: list[Clause]) -> list[Clause]:
    """Sorts with the partial order of Go.

    Few clauses, the usual case, are sorted by insertion, so that clauses that the order does not compare end up as in
    Go. Many are sorted in a total order that agrees with the partial one: insertion would take quadratic time.
    """
    if len(clauses) > _INSERTED:
        return sorted(clauses, key=lambda clause: (-clause.quality, clause.type == "*", clause.subtype == "*"))
    for start in range(1, len(clauses)):
        index = start
        while index and _before(clauses[index], clauses[index - 1]):
            clauses[index - 1], clauses[index] = clauses[index], clauses[index - 1]
            index -= 1
    return clauses


def _before(one: Clause, other: Clause) -> bool:
    return (
        one.quality > other.quality
        or (one.type != "*" and other.type == "*")
        or (one.subtype != "*" and other.subtype == "*")
    )


def is_human(user_agent: bytes) -> bool:
    """Whether a person seems to use the client (a browser, curl or wget); such clients get indented JSON."""
    return user_agent.startswith(_HUMANS)


def pretty_parameter(query: Mapping[str, list[str]], otherwise: bool) -> bool:
    """The value of the `pretty` parameter; `otherwise` if it is missing or empty."""
    values = query.get("pretty")
    return values[0] in _TRUE if values and values[0] else otherwise


def unacceptable(produced: Iterable[str]) -> StatusError:
    """The error 406 if no clause is exactly a produced media type."""
    message = f"406: Not Acceptable\n\nAvailable representations: {', '.join(produced)}"
    return StatusError(406, "NotAcceptable", message, {})


class NotHonoured(StatusError):
    """406 if no clause has supported parameters. The endpoint of the resource sends it, with its warnings."""


def not_acceptable(accepted: Iterable[str]) -> StatusError:
    """The error NotHonoured, with the accepted media types in its message."""
    return NotHonoured(406, "NotAcceptable", f"only the following media types are accepted: {', '.join(accepted)}")


def _well_formed(parameters: str) -> bool:
    """Whether Go's mime.ParseMediaType accepts the text after a media type's first semicolon: parameters with a token
    or a quoted string as value, no name with two values, and perhaps a semicolon at the end.
    """
    values: dict[str, str] = {}
    end = 0
    while match := _parameter(parameters, end):
        name, value = match[1].lower(), match[2]
        plain = _ESCAPED.sub(r"\1", value[1:-1]) if value.startswith('"') else value
        if values.setdefault(name, plain) != plain:
            return False
        end = match.end()
        if not parameters.startswith(";", end):
            break
        end += 1
    return not parameters[end:].strip()


def unsupported_body(accepted: Iterable[str]) -> StatusError:
    """The error 415, with the accepted media types in its message."""
    types = ", ".join(accepted)
    return unsupported_media_type(
        f"the body of the request was in an unknown format - accepted media types include: {types}"
    )
