"""NamespaceExists: refuses writes in a missing namespace."""

from __future__ import annotations

from gateway.admission.chain import Plugin, looking_up
from gateway.admission.kinds import NAMESPACES
from gateway.admission.record import Admission
from gateway.http.status import not_found
from gateway.kinds.attributes import Operation
from gateway.kinds.objects import Objects
from gateway.kinds.resource import Resource


def _handles(resource: Resource, operation: Operation) -> bool:
    return resource.namespaced and operation is not Operation.CONNECT


async def _validate(admission: Admission, objects: Objects) -> None:
    if admission.namespace and await objects.get(NAMESPACES, "", admission.namespace) is None:
        raise not_found("", "namespaces", admission.namespace)


PLUGIN = Plugin("NamespaceExists", _handles, looking_up(validate=_validate))
