"""The request to a webhook, an AdmissionReview (admission.k8s.io/v1 and v1beta1)."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import orjson

from gateway.admission.matcher import MatchTarget
from gateway.admission.record import Admission
from gateway.admission.webhooks.answer import GROUP, KIND
from gateway.http.user import user_info
from gateway.jsontypes import JsonObject, dumps
from gateway.kinds.identity import GroupVersionKind
from gateway.kinds.resource import Resource
from gateway.schema.encode import encode_answer
from gateway.schema.types import Type


class AdmissionReviews:
    """Makes the AdmissionReviews of one admission. Objects that several webhooks get are encoded once."""

    def __init__(self, admission: Admission) -> None:
        self._admission = admission
        self._encoded: dict[int, tuple[JsonObject, orjson.Fragment]] = {}

    async def review(self, version: str, target: MatchTarget) -> tuple[str, bytes]:
        """The uid and the JSON of an AdmissionReview in `version`, whose objects are in the version of `target`.

        Raises ConversionFailed, or ValueError if there is no conversion.
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
            "userInfo": user_info(admission.user),
            "object": self._bytes(objects.obj, target.kind),
            "oldObject": self._bytes(objects.old, target.kind),
            "dryRun": admission.dry_run,
            "options": admission.options,
        }
        for name in ("kind", "requestKind"):
            request[name] = {key: request[name][key] for key in ("group", "version", "kind")}
        return uid, dumps({"kind": KIND, "apiVersion": f"{GROUP}/{version}", "request": request}) + b"\n"

    def _bytes(self, obj: JsonObject | None, kind: GroupVersionKind) -> orjson.Fragment | None:
        if obj is None:
            return None
        known = self._encoded.get(id(obj))
        if known is None or known[0] is not obj:
            known = self._encoded[id(obj)] = obj, orjson.Fragment(encoded(self._admission.resource, obj, kind))
        return known[1]


def encoded(resource: Resource, obj: JsonObject, kind: GroupVersionKind) -> bytes:
    """An object as JSON with its members in Go's order. `kind` is the version of the resource's kind that it is in."""
    answer = encode_answer(obj, obj.get("kind") or kind.kind, kind.api_version, type_in(resource, kind))
    return answer.removesuffix(b"\n")


def type_in(resource: Resource, kind: GroupVersionKind) -> Type | None:
    """The schema of a version of the resource's kind; None if the catalog has it."""
    version = None if resource.foreign_kind else resource.model.versions.get(kind.group_version)
    return None if version is None or version.gvk.kind != kind.kind else version.type
