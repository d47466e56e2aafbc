"""Makes the events of audit.k8s.io/v1, each one line of JSON about a request at one stage.

Fields and their order are those of apiserver's `pkg/apis/audit/v1`. The objects in an event are encoded already: the
request's object, as the request has parsed it, is copied into the event.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from ipaddress import IPv6Address, ip_address
from typing import Any

import orjson

from gateway.audit.objects import EncodedObject, embedded
from gateway.audit.policy import API_VERSION, AuditLevel, AuditStage
from gateway.http.request_info import RequestInfo
from gateway.http.user import User
from gateway.jsontypes import JsonObject, dumps
from gateway.validation.field import go_quote

TRUNCATED = "audit.k8s.io/truncated"
_LONGEST_AGENT = 1024
_SIZE = 2048  # bytes of an event without objects, roughly


@dataclass(slots=True)
class AuditEvent:
    """One event. `meta` has the fields without objects, annotations and times, in their order. `request` is JSON in one
    line.
    """

    meta: JsonObject
    request: bytes | None = None
    response: EncodedObject | None = None
    without_managed_fields: bool = False
    annotations: dict[str, str] = field(default_factory=dict)
    texts: int = 0  # rough number of characters of those texts whose length clients and webhooks determine
    received: str = ""
    staged: str = ""

    @property
    def size(self) -> int:
        """The memory of the event in bytes, roughly."""
        objects = len(self.request or b"") + (0 if self.response is None else len(self.response.data))
        return _SIZE + self.texts + objects

    def object(self) -> JsonObject:
        """The event as an object for `dumps`; an answer that is not JSON is left out."""
        out = {"kind": "Event", "apiVersion": API_VERSION, **self.meta}
        if self.request is not None:
            out["requestObject"] = orjson.Fragment(self.request)
        if self.response is not None:
            found = embedded(self.response, self.without_managed_fields)
            if found is not None:
                out["responseObject"] = found
        out["requestReceivedTimestamp"], out["stageTimestamp"] = self.received, self.staged
        if self.annotations:
            out["annotations"] = dict(sorted(self.annotations.items()))
        return out

    def line(self) -> bytes:
        """The event as a line of JSON."""
        return dumps(self.object()) + b"\n"

    def legacy(self) -> bytes:
        """The event as a line of text, in the format of --audit-log-format=legacy."""
        meta = self.meta
        user, other = meta["user"], meta.get("impersonatedUser")
        groups = ",".join(map(go_quote, user.get("groups") or ())) or "<none>"
        as_user, as_groups = "<self>", "<lookup>"
        if other is not None:
            as_user = other["username"]
            as_groups = ",".join(map(go_quote, other["groups"])) if other.get("groups") else "<lookup>"
        status, addresses = meta.get("responseStatus"), meta.get("sourceIPs")
        shown = {
            "id": meta["auditID"],
            "stage": meta["stage"],
            "ip": addresses[0] if addresses else "<unknown>",
            "method": meta["verb"],
            "user": user.get("username") or "<none>",
            "groups": groups,
            "as": as_user,
            "asgroups": as_groups,
            "user-agent": meta.get("userAgent", ""),
            "namespace": meta.get("objectRef", {}).get("namespace") or "<none>",
            "uri": meta["requestURI"],
            "response": "<deferred>" if status is None else str(status.get("code", 0)),
        }
        pairs = " ".join(f"{name}={go_quote(value)}" for name, value in shown.items())
        return f"{self.received} AUDIT: {pairs}\n".encode("utf-8", "replace")


def now() -> str:
    """The present time in the format of metav1.MicroTime."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def user_info(user: User | None) -> JsonObject:
    """A user as UserInfo of authentication.k8s.io/v1; {} for None."""
    if user is None:
        return {}
    out: JsonObject = {"username": user.name}
    if user.uid:
        out["uid"] = user.uid
    if user.groups:
        out["groups"] = list(user.groups)
    if user.extra:
        out["extra"] = {key: list(values) for key, values in user.extra}
    return out


def object_reference(info: RequestInfo, named: Mapping[str, str] | None = None) -> JsonObject:
    """The ObjectReference of a resource request. `named` has metadata of the request's object, which complete it."""
    named = named or {}
    out = {
        "resource": info.resource,
        "namespace": info.namespace or named.get("namespace", ""),
        "name": info.name or named.get("name", ""),
        "uid": named.get("uid", ""),
        "apiGroup": info.group,
        "apiVersion": info.version,
        "resourceVersion": named.get("resourceVersion", ""),
        "subresource": info.subresource,
    }
    return {key: value for key, value in out.items() if value}


def source_ips(headers: Mapping[bytes, bytes], remote: str) -> list[str]:
    """The source addresses of a request: those of X-Forwarded-For, of X-Real-Ip, and last the peer's address."""
    found = [ip for part in headers.get(b"x-forwarded-for", b"").split(b",", 64)[:64] if (ip := _address(part))]
    real = _address(headers.get(b"x-real-ip", b""))
    if real and real not in found:
        found.append(real)
    peer = _address(remote.encode())
    if peer and (not found or found[-1] != peer):
        found.append(peer)
    return found


def _address(text: bytes) -> str:
    try:
        found = ip_address(text.decode("ascii").strip())
    except ValueError:
        return ""
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(found)


def user_agent(headers: Mapping[bytes, bytes]) -> str:
    """The User-Agent header, cut if it is too long."""
    text = headers.get(b"user-agent", b"").decode("utf-8", "replace")
    return text if len(text) <= _LONGEST_AGENT else f"{text[:_LONGEST_AGENT]}...TRUNCATED"


def metadata_of(level: AuditLevel, audit_id: str, stage: AuditStage, **more: Any) -> JsonObject:
    """The `meta` of an event. Empty fields are left out, except those that events always have."""
    out: JsonObject = {"level": level.text, "auditID": audit_id, "stage": stage.value}
    for name, value in more.items():
        if value or name in ("requestURI", "verb", "user"):
            out[name] = value
    return out
