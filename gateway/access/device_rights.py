"""The rights that a write of a ResourceClaim needs besides that to the request (Kubernetes, "Dynamic Resource
Allocation"). As kube-apiserver's `registry/resource`:

- Admin access to devices needs a label on the namespace.
- A change of the allocation or of reservedFor needs a right to `resourceclaims/binding`.
- A change of a device's status needs a right to `resourceclaims/driver` with the driver's name. The verb has the prefix
  "arbitrary-node:"; for a writer on the claim's node, the prefix "associated-node:" is enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gateway.access.authorization import Authorizer, forbidden
from gateway.access.service_accounts import account_of
from gateway.http.user import User
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Attributes
from gateway.kinds.identity import core
from gateway.kinds.write_context import WriteContext
from gateway.validation.checks import same
from gateway.validation.field import FieldError, internal
from gateway.validation.field import forbidden as forbidden_field
from gateway.validation.names import is_dns1123_subdomain
from gateway.validation.resource_claim import kept_devices

if TYPE_CHECKING:
    from gateway.access.object_reader import ObjectReader

ADMIN_LABEL = "resource.kubernetes.io/admin-access"
_NODE_NAME = "authentication.kubernetes.io/node-name"
_KEYS = ("driver", "pool", "device", "shareID")


class DeviceRights:
    """Checks the rights for writes of ResourceClaims and ResourceClaimTemplates."""

    def __init__(self, authorizer: Authorizer, objects: ObjectReader) -> None:
        self._authorizer, self._objects = authorizer, objects

    async def errors(self, context: WriteContext, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """The errors of a write that replaces `old`, None for a create, by `obj`, in the storage version.

        An update checks the status subresource only: the spec is immutable.
        """
        if old is None:
            return await self._administered(context, _first_administered(obj))
        if context.request.info.subresource != "status":
            return []
        status, before = obj.get("status") or {}, old.get("status") or {}
        place = "" if _first_granted(before) else _first_granted(status)
        found = await self._administered(context, place) + await self._binding(context, status, before)
        if status.get("allocation") is not None:
            devices = kept_devices(obj, old)
            changed = _changed_drivers(devices, before.get("devices") or ())
            found += await self._drivers(context.request, status["allocation"], changed)
        return found

    async def _administered(self, context: WriteContext, path: str) -> list[FieldError]:
        if not path:
            return []
        namespace = await self._objects.get(core("namespaces"), "", context.namespace)
        if namespace is None:
            missing = f'namespaces "{context.namespace}" not found'
            return [internal(path, f"could not retrieve namespace to verify admin access: {missing}")]
        if (namespace["metadata"].get("labels") or {}).get(ADMIN_LABEL) == "true":
            return []
        text = f"admin access to devices requires the `{ADMIN_LABEL}: true` label on the containing namespace"
        return [forbidden_field(path, text)]

    async def _binding(self, context: WriteContext, status: JsonObject, before: JsonObject) -> list[FieldError]:
        if all(same(status.get(key), before.get(key)) for key in ("allocation", "reservedFor")):
            return []
        info = context.request.info._replace(subresource="binding", namespace="", name="")
        refusal = await self._refusal(Attributes(context.user, info))
        if not refusal:
            return []
        needed = f'requires resource="resourceclaims/binding", verb="{info.verb}" permission: {refusal}'
        return [forbidden_field("status.allocation", f"changing status.allocation or status.reservedFor {needed}")]

    async def _drivers(self, request: Attributes, allocation: JsonObject, drivers: Iterable[str]) -> list[FieldError]:
        near = _is_on(request.user, _node_of(allocation))
        verbs = [f"{node}-node:{request.info.verb}" for node in (("associated",) if near else ()) + ("arbitrary",)]
        found = list[FieldError]()
        for driver in sorted(drivers):
            refusals = list[str]()
            for verb in verbs:
                info = request.info._replace(verb=verb, subresource="driver", name=driver)
                refusals.append(await self._refusal(Attributes(request.user, info)))
                if not refusals[-1]:
                    break
            else:
                right = f'resource="resourceclaims/driver", verb="[{" ".join(verbs)}]"'
                text = f"changing status.devices requires {right} permission: {refusals[0]}"
                found.append(forbidden_field("status.devices", text))
        return found

    async def _refusal(self, asked: Attributes) -> str:
        """Why the authorizer refuses; "" if it allows."""
        verdict = await self._authorizer.authorize(asked)
        if verdict.allowed:
            return ""
        return forbidden(asked, ": ".join(text for text in (verdict.error, verdict.reason) if text)).message


def _first_administered(obj: JsonObject) -> str:
    """The field path of the first device request with adminAccess, of a claim or a claim template; "" for none."""
    spec = obj.get("spec") or {}
    devices = (spec.get("spec") or spec).get("devices") or {}
    for i, request in enumerate(devices.get("requests") or ()):
        if (request.get("exactly") or {}).get("adminAccess"):
            return f"spec.devices.requests[{i}].adminAccess"
    return ""


def _first_granted(status: JsonObject) -> str:
    """The field path of the first allocated device with adminAccess; "" for none."""
    devices = (status.get("allocation") or {}).get("devices") or {}
    for i, result in enumerate(devices.get("results") or ()):
        if result.get("adminAccess"):
            return f"status.allocation.devices.results[{i}].adminAccess"
    return ""


def _changed_drivers(devices: Sequence[JsonObject], before: Sequence[JsonObject]) -> set[str]:
    """The drivers of the devices whose status was added, removed or changed."""
    gone = {_key(device): device for device in before}
    changed = set[str]()
    for device in devices:
        old = gone.pop(_key(device), None)
        if old is None or not same(old, device):
            changed.add(device.get("driver", ""))
    return changed | {device.get("driver", "") for device in gone.values()}


def _key(device: JsonObject) -> tuple[str, ...]:
    return tuple(device.get(key) or "" for key in _KEYS)


def _node_of(allocation: JsonObject) -> str:
    """The node of an allocation, if its node selector names exactly one; "" otherwise."""
    terms = (allocation.get("nodeSelector") or {}).get("nodeSelectorTerms") or []
    if len(terms) != 1 or terms[0].get("matchExpressions"):
        return ""
    fields = terms[0].get("matchFields") or []
    if len(fields) != 1 or (fields[0].get("key"), fields[0].get("operator")) != ("metadata.name", "In"):
        return ""
    values = fields[0].get("values") or []
    return str(values[0]) if len(values) == 1 else ""


def _is_on(user: User, node: str) -> bool:
    """Whether a user is a service account whose token is bound to a node."""
    if not node or account_of(user.name) is None:
        return False
    return dict(user.extra).get(_NODE_NAME) == (node,) and not is_dns1123_subdomain(node)
