"""AlwaysAdmit: admits everything; deprecated, and kept so that flags may name it."""

from __future__ import annotations

from gateway.admission.chain import Plugin, Reviews
from gateway.admission.record import Operation
from gateway.kinds.resource import Resource


def _handles(resource: Resource, operation: Operation) -> bool:
    return False


PLUGIN = Plugin("AlwaysAdmit", _handles, lambda parts: Reviews())
