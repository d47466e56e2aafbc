"""MutatingAdmissionPolicy: has the policies that a write concerns change it (page "Mutating Admission Policy")."""

from __future__ import annotations

from functools import partial

from gateway.admission.chain import Parts, Plugin, Reviews
from gateway.admission.policies.configuration import EXEMPT
from gateway.admission.record import Admission, Operation
from gateway.kinds.resource import Resource


async def _admit(parts: Parts, admission: Admission) -> None:
    candidates = parts.policies.mutating.of(admission.resource, admission.operation)
    if candidates:
        from gateway.admission.policies.mutating import mutate  # what evaluates expressions, which few have

        await mutate(parts, admission, candidates)


def _handles(resource: Resource, operation: Operation) -> bool:
    return operation is not Operation.DELETE and (resource.group, resource.resource) not in EXEMPT


PLUGIN = Plugin("MutatingAdmissionPolicy", _handles, lambda parts: Reviews(admit=partial(_admit, parts)))
