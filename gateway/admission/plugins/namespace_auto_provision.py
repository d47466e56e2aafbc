"""NamespaceAutoProvision: creating an object in a missing namespace creates the namespace too."""

from __future__ import annotations

from functools import partial

from gateway.admission.chain import Plugin, PluginParts, PluginReviews
from gateway.admission.kinds import NAMESPACES
from gateway.admission.record import Admission
from gateway.admission.refusal import refused
from gateway.http.status import StatusError
from gateway.kinds.attributes import Operation
from gateway.kinds.resource import Resource


def _handles(resource: Resource, operation: Operation) -> bool:
    return resource.namespaced and operation is Operation.CREATE


async def _admit(parts: PluginParts, admission: Admission) -> None:
    name = admission.namespace
    if admission.dry_run or not name or await parts.objects.get(NAMESPACES, "", name) is not None:
        return
    try:
        await parts.create(NAMESPACES, "", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    except StatusError as error:
        if error.reason == "Forbidden":
            raise
        raise refused(admission, admission.obj, error.message) from None


PLUGIN = Plugin("NamespaceAutoProvision", _handles, lambda parts: PluginReviews(partial(_admit, parts)))
