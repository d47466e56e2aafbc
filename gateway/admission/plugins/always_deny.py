"""AlwaysDeny: refuses everything; for tests."""

from __future__ import annotations

from gateway.admission.chain import Plugin, PluginReviews
from gateway.admission.record import Admission
from gateway.admission.refusal import refused
from gateway.kinds.attributes import Operation
from gateway.kinds.resource import Resource


def _handles(resource: Resource, operation: Operation) -> bool:
    return True


async def _refuse(admission: Admission) -> None:
    raise refused(admission, admission.obj, "admission control is denying all modifications")


PLUGIN = Plugin("AlwaysDeny", _handles, lambda parts: PluginReviews(_refuse, _refuse))
