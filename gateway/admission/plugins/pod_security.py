"""PodSecurity: namespaces say by labels how pods are restricted (page "Pod Security Admission").

A pod that violates its namespace's policy is refused, audited or warned of; for a template of pods there are only audit
annotations and warnings. The write that makes a namespace stricter is answered with warnings about its existing pods.
"""

from __future__ import annotations

from collections.abc import Awaitable
from functools import cache
from typing import TYPE_CHECKING

from gateway.admission.chain import Plugin, PluginParts, PluginReviews
from gateway.admission.record import Admission
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Operation
from gateway.kinds.pod_templates import TEMPLATES
from gateway.kinds.resource import Resource

if TYPE_CHECKING:
    from gateway.admission.podsecurity.reviews import PodSecurity

NAME = "PodSecurity"
_LABELS = "pod-security.kubernetes.io/"
_OF_PODS = ("", "ephemeralcontainers", "resize")  # subresources whose writes are checked


def _handles(resource: Resource, operation: Operation) -> bool:
    if operation not in (Operation.CREATE, Operation.UPDATE):
        return False
    match resource.group, resource.resource:
        case "", "pods":
            return resource.subresource in _OF_PODS
        case "", "namespaces":
            return not resource.subresource
    return not resource.subresource and (resource.group, resource.resource) in TEMPLATES


def _configure(document: JsonObject | None) -> object:
    """The configuration; None if the file has none. Raises InvalidConfiguration."""
    if document is None:
        return None
    from gateway.admission.podsecurity.configuration import configuration_of

    return configuration_of(document)


def _security(parts: PluginParts) -> PodSecurity:
    from gateway.admission.podsecurity.configuration import PodSecurityConfiguration, configuration_of
    from gateway.admission.podsecurity.reviews import PodSecurity

    configuration = parts.configured.get(NAME) or configuration_of(None)
    assert isinstance(configuration, PodSecurityConfiguration)
    return PodSecurity(configuration, parts.objects, int(parts.release.major_and_minor[1]))


def _is_labelled(obj: JsonObject | None) -> bool:
    labels = ((obj or {}).get("metadata") or {}).get("labels") or ()
    return any(label.startswith(_LABELS) for label in labels)


def _make(parts: PluginParts) -> PluginReviews:
    security = cache(lambda: _security(parts))

    def validate(admission: Admission) -> Awaitable[None] | None:
        match admission.resource.resource:
            case "pods":
                return security().validate_pod(admission)
            case "namespaces":
                if _is_labelled(admission.obj) or _is_labelled(admission.old):
                    return security().validate_namespace(admission)
                return None
            case _:
                return security().validate_template(admission)

    return PluginReviews(validate=validate)


PLUGIN = Plugin(NAME, _handles, _make, configure=_configure)
