"""PodSecurity: namespaces say by labels how pods are restricted (page "Pod Security Admission").

Pods are refused, audited and warned of; templates of pods are audited and warned of only. A namespace that becomes
stricter is answered with warnings about the pods that it has.
"""

from __future__ import annotations

from gateway.admission.chain import Parts, Plugin, Reviews
from gateway.admission.podsecurity.configuration import Configuration, configuration_of
from gateway.admission.podsecurity.reviews import PodSecurity
from gateway.admission.record import Admission, Operation
from gateway.kinds.pod_templates import TEMPLATES
from gateway.kinds.resource import Resource

NAME = "PodSecurity"
_OF_PODS = ("", "ephemeralcontainers", "resize")  # those subresources that change what pods may do


def _handles(resource: Resource, operation: Operation) -> bool:
    if operation not in (Operation.CREATE, Operation.UPDATE):
        return False
    match resource.group, resource.resource:
        case "", "pods":
            return resource.subresource in _OF_PODS
        case "", "namespaces":
            return not resource.subresource
    return not resource.subresource and (resource.group, resource.resource) in TEMPLATES


def _make(parts: Parts) -> Reviews:
    configuration = parts.configured[NAME]
    assert isinstance(configuration, Configuration)
    security = PodSecurity(configuration, parts.objects)

    async def validate(admission: Admission) -> None:
        match admission.resource.resource:
            case "pods":
                await security.validate_pod(admission)
            case "namespaces":
                await security.validate_namespace(admission)
            case _:
                await security.validate_template(admission)

    return Reviews(validate=validate)


PLUGIN = Plugin(NAME, _handles, _make, configure=configuration_of)
