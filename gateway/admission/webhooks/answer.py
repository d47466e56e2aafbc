"""The response of a webhook, an AdmissionReview (admission.k8s.io/v1 and v1beta1)."""

from __future__ import annotations

import asyncio
import base64
from dataclasses import dataclass, field
from typing import Any

from gateway.jsontypes import JsonObject
from gateway.kinds.scheme import unregistered
from gateway.patches.document import go_kind
from gateway.schema.body import SLOWLY
from gateway.schema.catalog import META, type_of
from gateway.schema.decode import DecodeError, DecodeReport, decode, parse_to_decode
from gateway.schema.errors import YamlError
from gateway.schema.outside import check_members, parsed_soon, read_yaml
from gateway.schema.types import Field, Omit, Type, TypeKind

GROUP, KIND = "admission.k8s.io", "AdmissionReview"
_VERSIONS = ("v1", "v1beta1")
_MOST_YAML = 256 << 10  # bytes
_META = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'


class InvalidAnswer(Exception):
    """A webhook's response breaks a rule of AdmissionReview; the message says which, in kube-apiserver's words."""


class Undecodable(Exception):
    """A webhook's response cannot be decoded as an AdmissionReview; the message says why."""


@dataclass(frozen=True, slots=True)
class WebhookVerdict:
    """The decision of a webhook. `status` is that of a denial; `patch` is the text of a JSON patch, empty for none."""

    allowed: bool
    status: JsonObject | None = None
    patch: bytes = b""
    patch_type: str = ""
    warnings: list[str] = field(default_factory=list)
    annotations: dict[str, str] = field(default_factory=dict)


def _member(name: str, go_name: str, of: Type, *, pointer: bool = False) -> tuple[str, Field]:
    return name, Field(name, go_name, of, Omit.NIL if pointer else Omit.EMPTY, pointer)


_TEXT = Type(TypeKind.STRING, "string")


def _review(version: str) -> Type:
    response = (
        _member("uid", "UID", Type(TypeKind.STRING, "types.UID")),
        _member("allowed", "Allowed", Type(TypeKind.BOOL, "bool")),
        _member("status", "Result", type_of(META + "Status"), pointer=True),
        _member("patch", "Patch", Type(TypeKind.BYTES, "[]uint8")),
        _member("patchType", "PatchType", Type(TypeKind.STRING, f"{version}.PatchType"), pointer=True),
        _member("auditAnnotations", "AuditAnnotations", Type(TypeKind.MAP, "map[string]string", elem=_TEXT)),
        _member("warnings", "Warnings", Type(TypeKind.LIST, "[]string", elem=_TEXT)),
    )
    members = (
        _member("kind", "Kind", _TEXT),
        _member("apiVersion", "APIVersion", _TEXT),
        _member(
            "response", "Response", Type(TypeKind.STRUCT, f"{version}.AdmissionResponse", dict(response)), pointer=True
        ),
    )
    return Type(TypeKind.STRUCT, f"{version}.AdmissionReview", dict(members))


_REVIEWS = {f"{GROUP}/{version}": _review(version) for version in _VERSIONS}


async def verdict(answer: bytes, version: str, uid: str, *, mutating: bool) -> WebhookVerdict:
    """Decodes the response to the review `uid` in `version` of AdmissionReview. Raises InvalidAnswer, Undecodable.

    A response in YAML is decoded too; its content type is not looked at.
    """
    review = await _read(answer, version)
    response: JsonObject | None = review.get("response")
    if response is None:
        raise InvalidAnswer("webhook response was absent")
    patch, patch_type = base64.b64decode(response.get("patch") or ""), response.get("patchType")
    if version == "v1":
        _check(review, uid, patch, patch_type, mutating=mutating)
    return WebhookVerdict(
        bool(response.get("allowed")),
        response.get("status"),
        patch if mutating else b"",
        patch_type if version == "v1" and patch_type else "JSONPatch",
        response.get("warnings") or [],
        response.get("auditAnnotations") or {},
    )


async def _read(answer: bytes, version: str) -> JsonObject:
    """The response as an AdmissionReview. Raises Undecodable."""
    is_long = len(answer) > SLOWLY  # finding an error in it takes too long for the event loop
    try:
        if answer.lstrip()[:1] == b"{":
            check_members(answer)
            value, _ = await parsed_soon(parse_to_decode, answer)
        else:
            value = await _yaml(answer)
    except DecodeError as error:
        raise Undecodable(f"couldn't get version/kind; json parse error: {error}") from None
    if value is None:
        value = {}
    if not isinstance(value, dict):
        wrong = f"json: cannot unmarshal {go_kind(value)} into Go value of type {_META}"
        raise Undecodable(f"couldn't get version/kind; json parse error: {wrong}")
    kind, api_version = _kind_of(value, version)
    try:
        type_ = _REVIEWS.get(api_version, _REVIEWS[f"{GROUP}/{version}"])
        if is_long:
            review = await asyncio.to_thread(decode, type_, value, DecodeReport(), len(answer))
        else:
            review = decode(type_, value, DecodeReport(), len(answer))
    except DecodeError as error:
        if kind == KIND:
            raise Undecodable(str(error)) from None
        review = {}
    if (kind, api_version) != (KIND, f"{GROUP}/{version}"):
        named = f"{api_version.rpartition('/')[2]}.{kind}"
        raise Undecodable(f"converting ({named}) to ({version}.{KIND}): unknown conversion")
    return review


async def _yaml(answer: bytes) -> Any:
    if len(answer) > _MOST_YAML:
        raise DecodeError(f"YAML of more than {_MOST_YAML} bytes")
    try:
        value, _ = await asyncio.to_thread(read_yaml, answer)
    except YamlError as error:
        raise DecodeError(f"error converting YAML to JSON: {error}") from None
    return value


def _kind_of(value: JsonObject, version: str) -> tuple[str, str]:
    """The kind and apiVersion of a response. If one is missing, the expected value is assumed.

    Raises Undecodable for an unknown kind or version.
    """
    for member in ("apiVersion", "kind"):
        if not isinstance(value.get(member), str | None):
            wrong = f"json: cannot unmarshal {go_kind(value[member])} into Go struct field .{member} of type string"
            raise Undecodable(f"couldn't get version/kind; json parse error: {wrong}")
    kind, api_version = value.get("kind") or KIND, value.get("apiVersion") or f"{GROUP}/{version}"
    if (kind, api_version) not in [(KIND, each) for each in _REVIEWS] + [("Status", "v1")]:
        raise Undecodable(unregistered(kind, api_version))
    return kind, api_version


def _check(review: JsonObject, uid: str, patch: bytes, patch_type: str | None, *, mutating: bool) -> None:
    """Checks the rules of admission.k8s.io/v1. Raises InvalidAnswer."""
    if (given := review["response"].get("uid") or "") != uid:
        raise InvalidAnswer(f'expected response.uid="{uid}", got "{given}"')
    kind, api_version = review.get("kind") or "", review.get("apiVersion") or ""
    if (kind, api_version) != (KIND, f"{GROUP}/v1"):
        found = f"{api_version or '/'}, Kind={kind}"
        raise InvalidAnswer(f"expected webhook response of {GROUP}/v1, Kind={KIND}, got {found}")
    if not mutating:
        if patch:
            raise InvalidAnswer("validating webhook may not return response.patch")
        if patch_type is not None:
            raise InvalidAnswer("validating webhook may not return response.patchType")
        return
    if patch and patch_type is None:
        raise InvalidAnswer("webhook returned response.patch but not response.patchType")
    if not patch and patch_type is not None:
        raise InvalidAnswer("webhook returned response.patchType but not response.patch")
    if patch and not patch_type:
        raise InvalidAnswer('webhook returned invalid response.patchType of ""')
