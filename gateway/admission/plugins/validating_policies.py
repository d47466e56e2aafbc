"""ValidatingAdmissionPolicy: asks the policies that a write concerns (page "Validating Admission Policy")."""

from __future__ import annotations

from functools import partial

from gateway.admission.chain import Parts, Plugin, Reviews
from gateway.admission.policies.configuration import EXEMPT
from gateway.admission.record import Admission, Operation
from gateway.kinds.resource import Resource


async def _validate(parts: Parts, admission: Admission) -> None:
    candidates = parts.policies.validating.of(admission.resource, admission.operation)
    if candidates:
        from gateway.admission.policies.validating import review  # what evaluates expressions, which few have

        await review(parts, admission, candidates)


def _handles(resource: Resource, operation: Operation) -> bool:
    return (resource.group, resource.resource) not in EXEMPT


PLUGIN = Plugin("ValidatingAdmissionPolicy", _handles, lambda parts: Reviews(validate=partial(_validate, parts)))
