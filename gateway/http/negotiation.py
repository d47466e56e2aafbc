"""Content negotiation: the Accept header to a representation (API Concepts, "Alternate representations of resources").

Two rules apply one after the other, as in kube-apiserver: some clause must name a served media type literally or be
`*/*`; then the best clause is taken whose parameters can be honoured.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from gateway.http.status import StatusError, unsupported_media_type

# what bodies are read in and error messages advertise
MEDIA_TYPES = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf")
STREAM_TYPES = ("application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch")
META_GROUP = "meta.k8s.io"
_META_VERSIONS = ("v1", "v1beta1")
TABLE, PARTIAL, PARTIAL_LIST = "Table", "PartialObjectMetadata", "PartialObjectMetadataList"

_HUMANS = (b"curl", b"Wget", b"Mozilla/5.0")
_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_MEMO_LIMIT = 1024
MEMORABLE = 256  # bytes of a header that is remembered; clients' own are shorter
_LONGEST = 64 * 1024  # characters of a header that are read
_LONGEST_TYPE = 4096  # bytes of a body's media type with its parameters
_CLAUSES = 4096  # clauses of a header that are read
_PARAMETERS = 16  # parameters of a clause that are read
_INSERTED = 12  # clauses that Go sorts by insertion


@dataclass(frozen=True, slots=True)
class MediaType:
    """A media type in which objects are answered; `stream` is a watch's content type in it, if it has one."""

    name: str
    stream: bytes | None = None


class Transform(NamedTuple):
    """Another form of an object that is asked for with `as`, `g` and `v`: a kind of meta.k8s.io and its version."""

    kind: str  # TABLE, PARTIAL or PARTIAL_LIST
    version: str
    include: str = "Metadata"  # what goes with a table's rows (the query parameter includeObject)


@dataclass(frozen=True, slots=True)
class Representation:
    """How to answer: in which media type, whether indented for people, and as which other kind."""

    media: MediaType
    content_type: bytes
    pretty: bool = False
    transform: Transform | None = None

    def prettied(self) -> Representation:
        """The same, indented."""
        return self if self.pretty else _PRETTY_JSON if self is JSON else replace(self, pretty=True)


@dataclass(slots=True)
class Clause:
    """One clause of an Accept header."""

    type: str
    subtype: str
    quality: float = 1.0
    params: dict[str, str] = field(default_factory=dict)


YAML = MediaType("application/yaml")
PROTOBUF = MediaType("application/vnd.kubernetes.protobuf", b"application/vnd.kubernetes.protobuf;stream=watch")
SERVED = (MediaType("application/json", b"application/json"), YAML, PROTOBUF)  # an unspecific client gets the first
_SERVED_TYPE = "application"
_SERVED_SUBTYPES = tuple((media, media.name.removeprefix(f"{_SERVED_TYPE}/")) for media in SERVED)

JSON = Representation(SERVED[0], b"application/json")
_PRETTY_JSON = replace(JSON, pretty=True)

_memo: dict[tuple[bytes, str], Representation] = {(b"", ""): JSON, (b"application/json", ""): JSON, (b"*/*", ""): JSON}


def negotiate(accept: bytes, verb: str) -> Representation:
    """The representation for an Accept header's value (b"" when there is none); raises StatusError 406.

    `verb` tells watches (streams) and lists, whose messages differ, from the rest. Answers to short headers are
    remembered.
    """
    kind = verb if verb in _COLLECTION_VERBS else ""
    found = _memo.get((accept, kind))
    if found is None:
        found = _negotiate(accept.decode("latin-1"), kind)
        if len(accept) <= MEMORABLE:
            if len(_memo) >= _MEMO_LIMIT:
                _memo.clear()
            _memo[accept, kind] = found
    return found


_COLLECTION_VERBS = frozenset({"list", "watch"})


def _negotiate(accept: str, kind: str) -> Representation:
    if not literally_acceptable(accept, MEDIA_TYPES):
        produced = MEDIA_TYPES + STREAM_TYPES if kind else MEDIA_TYPES
        raise unacceptable(produced)
    stream = kind == "watch"
    for media, params in matches(accept):
        if _honours(media, params, stream):
            content_type = media.stream if stream else media.name.encode()
            if content_type is None:
                break
            pretty = params.get("pretty") == "1" and not stream
            transform = _transform(params)
            if media is JSON.media and not pretty and transform is None:
                return JSON
            return Representation(media, content_type, pretty, transform)
    raise not_acceptable(STREAM_TYPES if stream else MEDIA_TYPES)


def matches(accept: str) -> Iterable[tuple[MediaType, Mapping[str, str]]]:
    """Media types with their parameters that the header admits, the preferred first; all of them for an empty one."""
    if not accept:
        yield from ((media, {}) for media in SERVED)
    for clause in parse_accept(accept):
        if clause.type not in ("*", _SERVED_TYPE):
            continue
        for media, subtype in _SERVED_SUBTYPES:
            if clause.subtype in (subtype, "*") and (clause.type == _SERVED_TYPE or clause.subtype == "*"):
                yield media, clause.params


def _honours(media: MediaType, params: Mapping[str, str], stream: bool) -> bool:
    if params.get("sv", "v1") not in ("v1", ""):
        return False
    if not _TRANSFORMING.isdisjoint(params) and not _transforms(media, params):
        return False
    streamed = params.get("stream")
    return not streamed or (streamed == "watch" and media.stream is not None)


_TRANSFORMING = frozenset({"as", "g", "v"})


def _transforms(media: MediaType, params: Mapping[str, str]) -> bool:
    """Whether the other form that is asked for is to be had in a media type: tables are not in protobuf."""
    if params.get("g") != META_GROUP or params.get("v") not in _META_VERSIONS:
        return False
    kind = params.get("as")
    return kind in (PARTIAL, PARTIAL_LIST) or (kind == TABLE and media is not PROTOBUF)


def _transform(params: Mapping[str, str]) -> Transform | None:
    return Transform(params["as"], params["v"]) if "as" in params else None


def literally_acceptable(accept: str, produced: Iterable[str]) -> bool:
    """Whether a clause, its parameters aside, is `*/*` or one of `produced`."""
    if not accept:
        return True
    types = {clause.partition(";")[0].strip(" ") for clause in _clauses(accept)}
    return "*/*" in types or not types.isdisjoint(produced)


def parse_accept(header: str) -> list[Clause]:
    """The clauses of an Accept header, by falling quality; malformed ones are left out, and those beyond any use."""
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
    """The header's clauses, as many as are read."""
    if len(header) > _LONGEST:
        header = header[:_LONGEST].rpartition(",")[0]
    return header.split(",", _CLAUSES)[:_CLAUSES]


def _quality(value: str) -> float:
    try:
        return float(value)
    except ValueError:
        return 0.0


def _by_preference(clauses: list[Clause]) -> list[Clause]:
    """Sorts with Go's (partial) order.

    The few that headers have are sorted by insertion, as Go does, which decides what happens between clauses that the
    order says nothing of. Many are sorted in a total order that agrees with it, in time that is not quadratic.
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
    """Whether the client looks like a person's: a browser, curl or wget; it gets indented JSON."""
    return user_agent.startswith(_HUMANS)


def pretty_parameter(query: Mapping[str, list[str]], otherwise: bool) -> bool:
    """What the `pretty` parameter says; `otherwise` where it has no value."""
    values = query.get("pretty")
    return values[0] in _TRUE if values and values[0] else otherwise


def unacceptable(produced: Iterable[str]) -> StatusError:
    """406 when no clause names a produced media type."""
    message = f"406: Not Acceptable\n\nAvailable representations: {', '.join(produced)}"
    return StatusError(406, "NotAcceptable", message, {})


def not_acceptable(accepted: Iterable[str]) -> StatusError:
    """406 when no clause's parameters can be honoured."""
    message = f"only the following media types are accepted: {', '.join(accepted)}"
    return StatusError(406, "NotAcceptable", message)


def body_media_type(content_type: bytes) -> str:
    """The media type of a request's body, "application/json" when it has none; raises StatusError 415.

    It is one of MEDIA_TYPES.
    """
    if content_type in (b"", b"application/json"):
        return MEDIA_TYPES[0]
    if len(content_type) > _LONGEST_TYPE:
        raise unsupported_body(MEDIA_TYPES)
    media, _, parameters = content_type.decode("latin-1").partition(";")
    media_type = media.strip().lower()
    if media_type not in MEDIA_TYPES or not _well_formed(parameters):
        raise unsupported_body(MEDIA_TYPES)
    return media_type


def _well_formed(parameters: str) -> bool:
    """Whether all that follows a media type's first semicolon is `name=value`, but for white space."""
    if not parameters.strip():
        return True
    pairs = [parameter.strip().partition("=") for parameter in parameters.split(";")]
    return all(name and value for name, _, value in pairs)


def unsupported_body(accepted: Iterable[str]) -> StatusError:
    """415 that names what is accepted."""
    types = ", ".join(accepted)
    return unsupported_media_type(
        f"the body of the request was in an unknown format - accepted media types include: {types}"
    )
