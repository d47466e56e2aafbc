"""AdmissionReview: what a webhook is sent and what it answers (admission.k8s.io/v1 and v1beta1)."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import orjson

from gateway.admission.matching import Target
from gateway.admission.record import Admission
from gateway.admission.request_value import user_value
from gateway.jsontypes import JsonObject, dumps
from gateway.kinds.identity import GroupVersionKind
from gateway.kinds.resource import Resource
from gateway.schema.encode import encode_answer
from gateway.schema.types import Type

_GROUP, _KIND = "admission.k8s.io", "AdmissionReview"


class InvalidAnswer(Exception):
    """A webhook's answer breaks the rules of AdmissionReview; the message says which, in kube-apiserver's words."""


class Undecodable(Exception):
    """A webhook's answer is no AdmissionReview at all; the message says why."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a webhook says: `status` is that of a denial, `patch` the JSON text of a JSON patch, empty for none."""

    allowed: bool
    status: JsonObject | None = None
    patch: bytes = b""
    patch_type: str = ""
    warnings: list[str] = field(default_factory=list)
    annotations: dict[str, str] = field(default_factory=dict)


class Reviews:
    """Makes the reviews of one admission; what many webhooks are sent alike is encoded once."""

    def __init__(self, admission: Admission) -> None:
        self._admission = admission
        self._encoded: dict[int, tuple[JsonObject, orjson.Fragment]] = {}

    async def review(self, version: str, target: Target) -> tuple[str, bytes]:
        """The uid and the bytes of a review in a version of AdmissionReview, of a request as `target` sees it.

        Raises ConversionFailed, ValueError where the objects can't be converted.
        """
        admission = self._admission
        objects = await admission.as_version(target.kind.group_version)
        uid = str(uuid4())
        request: dict[str, Any] = {"uid": uid, "kind": target.kind._asdict(), "resource": target.resource._asdict()}
        if admission.subresource:
            request["subResource"] = admission.subresource
        request |= {"requestKind": admission.kind._asdict(), "requestResource": admission.gvr._asdict()}
        if admission.subresource:
            request["requestSubResource"] = admission.subresource
        request |= {key: value for key in ("name", "namespace") if (value := getattr(admission, key))}
        request |= {
            "operation": admission.operation.value,
            "userInfo": user_value(admission.user),
            "object": self._bytes(objects.obj, target.kind),
            "oldObject": self._bytes(objects.old, target.kind),
            "dryRun": admission.dry_run,
            "options": admission.options,
        }
        for name in ("kind", "requestKind"):
            request[name] = {key: request[name][key] for key in ("group", "version", "kind")}
        return uid, dumps({"kind": _KIND, "apiVersion": f"{_GROUP}/{version}", "request": request}) + b"\n"

    def _bytes(self, obj: JsonObject | None, kind: GroupVersionKind) -> orjson.Fragment | None:
        if obj is None:
            return None
        known = self._encoded.get(id(obj))
        if known is None or known[0] is not obj:
            known = self._encoded[id(obj)] = obj, orjson.Fragment(encoded(self._admission.resource, obj, kind))
        return known[1]

    def forget(self) -> None:
        """To be called where the object has been changed."""
        self._encoded.clear()


def encoded(resource: Resource, obj: JsonObject, kind: GroupVersionKind) -> bytes:
    """An object as JSON in Go's order, of one version of the kind that `resource` takes."""
    return encode_answer(obj, obj.get("kind") or kind.kind, kind.api_version, type_in(resource, kind))


def type_in(resource: Resource, kind: GroupVersionKind) -> Type | None:
    """The schema of a version of the kind that a resource takes; None for the catalog's."""
    version = None if resource.foreign_kind else resource.model.versions.get(kind.group_version)
    return None if version is None or version.gvk.kind != kind.kind else version.type


def verdict(answer: JsonObject, version: str, uid: str, *, mutating: bool) -> Verdict:
    """What an answer to the review of a version and uid says. Raises InvalidAnswer, Undecodable."""
    response = answer.get("response")
    if response is None:
        raise InvalidAnswer("webhook response was absent")
    if not isinstance(response, dict):
        raise Undecodable(_mismatch(response, "AdmissionReview.response", "v1.AdmissionResponse"))
    patch, patch_type = _patch(response)
    if version == "v1":
        _check(answer, response, uid, patch, patch_type, mutating=mutating)
    elif not mutating:
        patch = b""
    return Verdict(
        response.get("allowed") is True,
        _object(response, "status"),
        patch,
        patch_type or "JSONPatch",
        [each for each in _list(response, "warnings") if isinstance(each, str)],
        {key: value for key, value in (_object(response, "auditAnnotations") or {}).items() if isinstance(value, str)},
    )


def _check(
    answer: JsonObject, response: JsonObject, uid: str, patch: bytes, patch_type: str | None, *, mutating: bool
) -> None:
    """The rules of v1."""
    if (given := response.get("uid") or "") != uid:
        raise InvalidAnswer(f'expected response.uid="{uid}", got "{given}"')
    kind, api_version = answer.get("kind") or "", answer.get("apiVersion") or ""
    if (kind, api_version) != (_KIND, f"{_GROUP}/v1"):
        found = f"{api_version if api_version else '/'}, Kind={kind}"
        raise InvalidAnswer(f"expected webhook response of {_GROUP}/v1, Kind={_KIND}, got {found}")
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


def _patch(response: JsonObject) -> tuple[bytes, str | None]:
    """The patch as text, and its type; None where it is not said. Raises Undecodable."""
    text, patch_type = response.get("patch") or "", response.get("patchType")
    if not isinstance(text, str) or not (patch_type is None or isinstance(patch_type, str)):
        wrong, name = (text, "patch") if not isinstance(text, str) else (patch_type, "patchType")
        raise Undecodable(_mismatch(wrong, f"AdmissionResponse.response.{name}", "string"))
    try:
        return base64.b64decode(text, validate=True), patch_type
    except binascii.Error:
        alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        at = next((i for i, each in enumerate(text) if each not in alphabet), len(text))
        raise Undecodable(f"illegal base64 data at input byte {at}") from None


def _object(response: JsonObject, name: str) -> JsonObject | None:
    found = response.get(name)
    if found is not None and not isinstance(found, dict):
        raise Undecodable(_mismatch(found, f"AdmissionResponse.response.{name}", "object"))
    return found


def _list(response: JsonObject, name: str) -> list[Any]:
    found = response.get(name)
    if found is not None and not isinstance(found, list):
        raise Undecodable(_mismatch(found, f"AdmissionResponse.response.{name}", "[]string"))
    return found or []


def _mismatch(value: Any, where: str, wanted: str) -> str:
    kinds = {dict: "object", list: "array", str: "string", bool: "bool"}
    return f"json: cannot unmarshal {kinds.get(type(value), 'number')} into Go struct field {where} of type {wanted}"
