"""A sample audit event."""

from __future__ import annotations

from typing import Any

from gateway.audit.event import AuditEvent

META: dict[str, Any] = {
    "level": "Metadata",
    "auditID": "1",
    "stage": "ResponseComplete",
    "requestURI": "/api",
    "verb": "get",
    "user": {"username": "ada", "groups": ["a", "b"]},
}


def event(identity: str = "1", body: bytes = b"") -> AuditEvent:
    made = AuditEvent({**META, "auditID": identity}, body or None)
    made.received = made.staged = "2026-01-01T00:00:00.000000Z"
    return made
