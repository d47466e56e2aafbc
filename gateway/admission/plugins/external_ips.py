"""DenyServiceExternalIPs: services get no external IPs that they did not have."""

from __future__ import annotations

from gateway.admission.chain import Plugin, PluginReviews, on
from gateway.admission.record import Admission
from gateway.admission.refusal import refused
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Operation


def _external_ips(service: JsonObject | None) -> set[str]:
    return set(((service or {}).get("spec") or {}).get("externalIPs") or ())


async def _validate(admission: Admission) -> None:
    if not _external_ips(admission.obj) <= _external_ips(admission.old):
        raise refused(admission, admission.obj, "Use of external IPs is denied by admission control")


PLUGIN = Plugin(
    "DenyServiceExternalIPs",
    on("/services", operations=(Operation.CREATE, Operation.UPDATE)),
    lambda parts: PluginReviews(validate=_validate),
)
