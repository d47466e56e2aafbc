"""Makes an event of audit.k8s.io/v1, one JSON line, of a request at one of its stages.

Fields and their order are those of apiserver's `pkg/apis/audit/v1`. Objects are JSON already: that of a request was
written of what its own parser made of the body, and stands in the event as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from ipaddress import IPv6Address, ip_address
from typing import Any

import orjson

from gateway.audit.objects import Body, embedded
from gateway.audit.policy import API_VERSION, Level, Stage
from gateway.http.request_info import RequestInfo
from gateway.http.user import User
from gateway.jsontypes import JsonObject, dumps
from gateway.validation.field import go_quote

TRUNCATED = "audit.k8s.io/truncated"
_LONGEST_AGENT = 1024
_SIZE = 2048  # bytes of an event without objects, about


@dataclass(slots=True)
class Event:
    """One event; `meta` is all of it but the objects, in order of the fields. `request` is JSON of one line."""

    meta: JsonObject
    request: bytes | None = None
    response: Body | None = None
    without_managed_fields: bool = False
    annotations: dict[str, str] = field(default_factory=dict)
    texts: int = 0  # characters in `meta` and the annotations that clients and webhooks have the choice of, about
    received: str = ""
    staged: str = ""

    @property
    def size(self) -> int:
        """Bytes that it keeps, about."""
        objects = len(self.request or b"") + (0 if self.response is None else len(self.response.data))
        return _SIZE + self.texts + objects

    def object(self) -> JsonObject:
        """The event, for `dumps`; an answer that is no JSON is left out."""
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
        """The event as a line of text, as --audit-log-format=legacy has it."""
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
    """The time as metav1.MicroTime writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def user_info(user: User | None) -> JsonObject:
    """A user as authentication.k8s.io/v1 UserInfo."""
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
    """What a resource request is about; `named` has what only the request's object says."""
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
    """Where a request comes from: what X-Forwarded-For and X-Real-Ip say, and the peer's address at last."""
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
    """What the client calls itself, cut where it goes on for too long."""
    text = headers.get(b"user-agent", b"").decode("utf-8", "replace")
    return text if len(text) <= _LONGEST_AGENT else f"{text[:_LONGEST_AGENT]}...TRUNCATED"


def metadata_of(level: Level, audit_id: str, stage: Stage, **more: Any) -> JsonObject:
    """An event without objects, annotations and times: what is empty is left out, but for what is always there."""
    out: JsonObject = {"level": level.text, "auditID": audit_id, "stage": stage.value}
    for name, value in more.items():
        if value or name in ("requestURI", "verb", "user"):
            out[name] = value
    return out
