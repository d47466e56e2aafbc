"""Reads the object in a request's body. Checks media type, kind and version, types, unknown and duplicate fields.

API Concepts, "Field validation"; the checks and their messages are those of apiserver's create and update handlers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gateway.endpoints.endpoint import Endpoint
from gateway.http.exchange import Request
from gateway.http.status import bad_request
from gateway.http.warnings import Warnings
from gateway.jsontypes import JsonObject, dumps, loads
from gateway.kinds.resource import Resource
from gateway.kinds.scheme import has_type_of
from gateway.kinds.spec_templates import Specification, SpecTemplate, SpecTemplates
from gateway.kinds.unserved_versions import taken_beside
from gateway.schema.body import Body, parse_body, parse_exactly
from gateway.schema.decode import DecodeError, DecodeReport, decode, parse_to_decode
from gateway.schema.empty_lists import unstored
from gateway.schema.errors import YamlError
from gateway.schema.exact import pairs
from gateway.schema.outside import read_yaml
from gateway.schema.protobuf import read_envelope, read_message
from gateway.schema.protobuf_wire import ProtobufError
from gateway.schema.refusals import json_kind
from gateway.schema.types import Type
from gateway.validation.field import go_quote
from gateway.writing.field_tracking import told_apart
from gateway.writing.offload import WEIGHTS, offloaded
from gateway.writing.other_kinds import unfit, unknown_by_name, unreadable_as
from gateway.writing.write import Sent

PROTOBUF = "application/vnd.kubernetes.protobuf"
CBOR = "application/cbor"
_SUMMARY_LENGTH = 30
NO_API_VERSION = ".apiVersion accessor error: <nil> is of the type <nil>, expected string"
"""Go's error for a custom object whose apiVersion is null."""
META_STRUCT = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'


async def read_object(request: Request, endpoint: Endpoint, validation: str, *, new: bool = False) -> Sent:
    """Reads the object in the body, with the endpoint's type.

    `validation` is the fieldValidation directive; with "Warn" the request gets warnings. Only a `new` object, of a
    create, may have a spec that was read before. Raises StatusError 400, 413 and 415.
    """
    media_type = request.media.body_type(request.headers.get(b"content-type", b""))
    data = await request.body()
    resource = endpoint.resource
    reader = _Reader(endpoint.type, resource.api_version, resource.kind, validation, request.warnings, resource)
    templates = endpoint.strategy.templates if new else None
    size = len(data) * WEIGHTS.get(media_type, 1)
    if templates is None:
        sent = await offloaded(size, reader.read, data, media_type)
    else:
        sent = await offloaded(size, reader.read_again, data, media_type, templates)
    if (audit := request.audit) is not None:
        await offloaded(size, audit.requested, sent.obj)
    return sent


@dataclass(slots=True)
class _Reader:
    """Decodes the bytes of a body to an object."""

    type: Type
    api_version: str
    kind: str
    validation: str
    warnings: Warnings
    resource: Resource
    sent: int = 0  # the size of the body in bytes

    def read(self, data: bytes, media_type: str) -> Sent:
        strict: list[str] = []
        value, version, named = self._parse(data, media_type, strict)
        report = DecodeReport()
        obj = self._object(value, version, named, strict, report)
        lost, emptied = told_apart(self.type, value, obj, report)
        return Sent(obj, len(data), lost, emptied=emptied)

    def read_again(self, data: bytes, media_type: str, templates: SpecTemplates) -> Sent:
        """Reads the body. If an equal spec was read before, its decoded form is reused (see Templates)."""
        strict: list[str] = []
        value, version, named = self._parse(data, media_type, strict)
        template, lost = None if strict else templates.of(value), unstored(self.type, value)
        if template is None:
            return Sent(self._object(value, version, named, strict, DecodeReport()), len(data), lost)
        obj = None if template.settled is None else self._with_known(value, named, template.settled, templates)
        if obj is None:
            report = DecodeReport()
            obj = self._object(value, version, named, strict, report)
            if report.problems:
                return Sent(obj, len(data), lost)
            template.settled = dumps(obj[template.member])
        return Sent(obj, len(data), lost, Specification(template))

    def _with_known(self, value: JsonObject, named: str, settled: bytes, templates: SpecTemplates) -> JsonObject | None:
        """The object with the known, decoded spec `settled`; None if there is any problem in the other members."""
        report, member = DecodeReport(), SpecTemplate.member
        others = dict(value)
        del others[member]
        try:
            obj = self._decoded(others, report)
        except DecodeError:
            return None
        if report.problems:
            return None
        obj[member] = loads(settled)
        return complete(obj, value, self.resource, named, default=templates.default_others)

    def _unnamed(self, value: Any, data: bytes, media_type: str) -> Exception | None:
        """The error if a custom object's kind is missing, or its apiVersion null. (Only built-in objects may leave
        them out.)
        """
        api_version, kind, given = self.api_version, self.kind, value if isinstance(value, dict) else {}
        if not given.get("kind"):
            shown = "" if media_type == CBOR else f" in '{data.decode(errors='replace')}'"
            problem = f"Object 'Kind' is missing{shown}"
            if self.validation == "Ignore" and media_type != CBOR:
                return _cannot_handle(kind, given.get("apiVersion") or api_version, kind, problem)
            return _unrecognized(kind, problem, data)
        if "apiVersion" in given and given["apiVersion"] is None:
            return _cannot_handle(str(given["kind"]), "", kind, NO_API_VERSION)
        return None

    def _parse(self, data: bytes, media_type: str, strict: list[str]) -> tuple[Any, str, str]:
        """The value of a body, and the version and kind that it names. Adds duplicate keys of YAML to `strict`."""
        api_version, kind, self.sent = self.api_version, self.kind, len(data)
        other = taken_beside(api_version, kind)
        if media_type == PROTOBUF:
            value = parse_protobuf(data, self.type, api_version, kind, any_version=bool(other))
        else:
            value = parse_document(data, media_type, kind, strict, strictly=self.validation != "Ignore")
        version, named = type_meta(value, data, api_version, kind)
        if self.resource.custom and (error := self._unnamed(value, data, media_type)):
            raise error
        if self.resource.custom and not (version == api_version and value.get("apiVersion")):
            self._tell_problems(value, version, named, strict)
            raise _other_version(version if value.get("apiVersion") else "", api_version)
        if version not in (api_version, other) or (named != kind and not self.resource.custom):
            raise _other_kind(value, version, named, api_version, kind)
        return value, version, named

    def _tell_problems(self, value: Any, version: str, named: str, strict: list[str]) -> None:
        """Tells the problems of a custom object in another version. Raises StatusError 400 for wrong metadata, and for
        any problem with Strict.
        """
        report = DecodeReport()
        try:
            decode(self.type, {"metadata": value.get("metadata")}, report)
        except DecodeError as error:
            shown = version if value.get("apiVersion") else ""
            raise _cannot_handle(named, shown, self.kind, str(error)) from None
        if self.validation == "Ignore":
            return
        duplicates = parse_body(value.raw)[1] if type(value) is Body and value.duplicates else []
        problems = [*strict, *duplicates, *(unknown_by_name(value, self.resource, report) or ())]
        if problems and self.validation == "Strict":
            if not value.get("apiVersion"):
                raise bad_request("Object 'apiVersion' is missing in 'object has no apiVersion field'")
            raise _cannot_handle(named, version, named, f"strict decoding error: {', '.join(problems)}")
        self.warnings.extend(warning_lines(problems))

    def _decoded(self, value: Any, report: DecodeReport) -> JsonObject:
        obj = decode(self.type, value, report, self.sent)
        if (read := self.resource.read_internal) is not None and "metadata" in obj:
            read(obj)
        return obj

    def _object(self, value: Any, version: str, named: str, strict: list[str], report: DecodeReport) -> JsonObject:
        kind, validation = self.kind, self.validation
        try:
            obj = self._decoded(value, report)
        except DecodeError as error:
            raise _cannot_handle(named, version, kind, str(error)) from None
        if validation != "Ignore" and (report.problems or strict):
            told = unknown_by_name(value, self.resource, report)
            problems = [*strict, *(report.problems if told is None else report.duplicates + told)]
            if validation == "Strict" and problems:
                shown = named if self.resource.custom else kind
                raise _cannot_handle(named, version, shown, f"strict decoding error: {', '.join(problems)}")
            self.warnings.extend(warning_lines(problems))
        return complete(obj, value, self.resource, named)


def complete(
    obj: JsonObject,
    sent: Any,
    resource: Resource,
    kind: str = "",
    *,
    applied: bool = False,
    default: Callable[[JsonObject], None] | None = None,
) -> JsonObject:
    """Defaults a decoded object in place, and returns it. `default` replaces the usual function if a part of the object
    has its defaults already. `kind` is for custom objects: a wrong kind is kept, so that validation refuses it.

    Decoding drops empty lists. An empty list of managedFields in `sent` is restored, since it means to clear them; not
    so of a custom object.
    """
    obj["kind"], obj["apiVersion"] = kind or resource.kind, resource.api_version
    meta = obj.setdefault("metadata", {})
    if isinstance(sent, dict) and (sent.get("metadata") or {}).get("managedFields") == [] and not resource.custom:
        meta["managedFields"] = []
    if default is None:
        resource.default(obj, applied=applied)
    else:
        default(obj)
    return obj


def parse_document(data: bytes, media_type: str, kind: str, strict: list[str], *, strictly: bool) -> Any:
    """The value of a body in JSON, YAML or CBOR. Adds duplicate keys of YAML to `strict`. Raises StatusError 400."""
    try:
        if media_type == CBOR:
            return parse_cbor(data, kind)  # raises StatusError
        if media_type == "application/yaml":
            try:
                value, duplicates = read_yaml(data, sort=True)  # so that Go's first error is found
            except YamlError as error:
                raise _unrecognized(kind, str(error), data) from None
            if duplicates and strictly:
                lines = "".join(f"\n  {text}" for text in duplicates)
                strict.append(f"yaml: unmarshal errors:{lines}")
            return value
        return parse_to_decode(data)[0]
    except DecodeError as error:
        text = f"couldn't get version/kind; json parse error: {error}"
        raise _unrecognized(kind, text, data) from None


def parse_cbor(data: bytes, kind: str) -> Any:
    """The JSON value of a body in CBOR. Raises StatusError 400, also for duplicate keys."""
    from gateway.encodings.cbor import CborError, decode

    try:
        return decode(data)
    except CborError as error:
        raise _unrecognized(kind, f"unable to determine group/version/kind: {error}", data) from None


def parse_protobuf(data: bytes, type_: Type, api_version: str, kind: str, *, any_version: bool = False) -> JsonObject:
    """The JSON form of a body in protobuf; for another kind, only its kind and apiVersion. Raises StatusError 400.

    With `any_version`, any version is accepted: in DeleteOptions, clients name that of the resource's group.
    """
    try:
        envelope = read_envelope(data)
    except ProtobufError as error:
        raise _unrecognized(kind, str(error), data) from None
    version, named = envelope.api_version or api_version, envelope.kind or kind
    type_named = {"kind": named, "apiVersion": version}
    if named != kind or (version != api_version and not any_version):
        return type_named
    try:
        return {**type_named, **read_message(type_, envelope.raw)}
    except ProtobufError as error:
        raise _cannot_handle(named, version, kind, str(error)) from None


def type_meta(value: Any, data: bytes, api_version: str, kind: str) -> tuple[str, str]:
    """The apiVersion and kind of a body; `api_version` and `kind` if it leaves them out. Raises StatusError 400."""
    if not isinstance(value, dict):
        if value is None:
            return api_version, kind
        raise _no_meta(kind, f"{json_kind(value)} into Go value of type {META_STRUCT}", data)
    try:
        version, named = version_and_kind(value)
    except DecodeError as error:
        raise _unrecognized(kind, str(error), data) from None
    if version == api_version:
        return version, named or kind
    if version and version.count("/") > 1:
        raise _unrecognized(kind, f"unexpected GroupVersion string: {version}", data)
    if version and version.startswith("/"):
        version = version[1:]
    if version == "/":
        version = ""
    group, slash, number = version.rpartition("/")
    if slash and not number and group == api_version.rpartition("/")[0]:
        version = api_version
    return version or api_version, named or kind


def _other_version(version: str, api_version: str) -> Exception:
    expected = f"does not match the expected API version ({api_version})"
    return bad_request(f"the API version in the data ({version}) {expected}")


def version_and_kind(value: JsonObject) -> tuple[str, str]:
    """The apiVersion and kind of a JSON object; the case of the member names does not count. Of repeated members the
    last one counts that is not null. Raises DecodeError for the first one that is not text.
    """
    found = {"apiversion": "", "kind": ""}
    for key, given in pairs(parse_exactly(value.raw)) if type(value) is Body and value.duplicates else value.items():
        name = key.lower()
        if name in found and given is not None:
            if not isinstance(given, str):
                field = "apiVersion" if name == "apiversion" else name
                problem = f"{json_kind(given)} into Go struct field .{field} of type string"
                raise DecodeError(f"couldn't get version/kind; json parse error: json: cannot unmarshal {problem}")
            found[name] = given
    return found["apiversion"], found["kind"]


def _other_kind(value: Any, version: str, named: str, api_version: str, kind: str) -> Exception:
    """The error for a body of another kind or version than the URL's."""
    if named == kind and has_type_of(kind, version.rpartition("/")[0], api_version.rpartition("/")[0]):
        problem = unreadable_as(value, version, named)
        return (
            _other_version(version, api_version) if problem is None else _cannot_handle(named, version, kind, problem)
        )
    return _cannot_handle(named, version, kind, unfit(value, version, named, api_version, kind))


def warning_lines(problems: list[str]) -> list[str]:
    """Strict decoding problems as warnings; a problem of YAML with several lines becomes several warnings."""
    lines: list[str] = []
    for problem in problems:
        text = problem.removeprefix("error converting YAML to JSON: ")
        if text.startswith("yaml: unmarshal errors:\n"):
            lines += [line.strip() for line in text.split("\n")[1:]]
        else:
            lines.append(problem)
    return lines


def _no_meta(kind: str, problem: str, data: bytes) -> Exception:
    return _unrecognized(kind, f"couldn't get version/kind; json parse error: json: cannot unmarshal {problem}", data)


def _unrecognized(kind: str, problem: str, data: bytes) -> Exception:
    text = f"the object provided is unrecognized (must be of type {kind}): {problem} ({_summary(data)})"
    return bad_request(text)


def _cannot_handle(named: str, version: str, kind: str, problem: str) -> Exception:
    number = version.rpartition("/")[2]
    return bad_request(f"{named} in version {go_quote(number)} cannot be handled as a {kind}: {problem}")


def _summary(data: bytes) -> str:
    if not data:
        return "<empty>"
    more = " ..." if len(data) > _SUMMARY_LENGTH else ""
    start = data[:_SUMMARY_LENGTH]
    return (start.decode("utf-8", "replace") if data[:1] == b"{" else start.hex()) + more
