"""To make a control plane of a template, a user must be allowed to update the template: the copy has all its Secrets.

Users who may update a control plane may make themselves its administrators, so they may read its objects anyway.
"""

from __future__ import annotations

from functools import partial

from gateway.access.authorization import Authorizer, asked_of_resource
from gateway.admission.chain import Plugin, PluginParts, PluginReviews, on
from gateway.admission.record import Admission
from gateway.admission.refusal import refused
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Operation
from gateway.validation.field import go_quote


async def _validate(authorizer: Authorizer, admission: Admission) -> None:
    template = _template(admission.obj)
    if not template or template == _template(admission.old):
        return
    resource = admission.resource
    asked = asked_of_resource(admission.user, "update", resource.group, resource.resource, template)
    if not (await authorizer.authorize(asked)).allowed:
        reason = f"user not permitted to update the template {go_quote(template)}, so not permitted to copy it"
        raise refused(admission, admission.obj, reason)


def _template(obj: JsonObject | None) -> str:
    spec = (obj or {}).get("spec") or {}
    return str(spec.get("template") or "")


def _make(parts: PluginParts) -> PluginReviews:
    return PluginReviews(validate=partial(_validate, parts.authorizer))


PLUGIN = Plugin(
    "ControlPlaneTemplate",
    on("apiserver-gateway.dev/controlplanes", operations=(Operation.CREATE, Operation.UPDATE)),
    _make,
)
