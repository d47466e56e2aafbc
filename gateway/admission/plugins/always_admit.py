"""AlwaysAdmit: has no objections, as it has always been; kept so that it can be named."""

from __future__ import annotations

from gateway.admission.chain import Plugin, Reviews
from gateway.admission.record import Operation
from gateway.kinds.resource import Resource


def _handles(resource: Resource, operation: Operation) -> bool:
    return False


PLUGIN = Plugin("AlwaysAdmit", _handles, lambda parts: Reviews(), default_on=False)
