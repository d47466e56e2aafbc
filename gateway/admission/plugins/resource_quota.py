"""ResourceQuota: writes stay within the quotas of their namespace ("Resource Quotas")."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from gateway.admission.chain import Plugin, PluginParts, PluginReviews
from gateway.admission.configuration import Document, InvalidConfiguration, Leaf, of_kind
from gateway.admission.record import Admission, Found
from gateway.http.status import StatusError, forbidden
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Operation
from gateway.kinds.identity import GroupVersion
from gateway.kinds.resource import Resource
from gateway.memo import each_time
from gateway.quotas.charges import Charged, Charges, Charging
from gateway.quotas.check import Uncovered
from gateway.quotas.evaluator import EvaluatedWrite, Evaluator
from gateway.quotas.evaluators import evaluator_of
from gateway.quotas.limited_resources import Limited, limited_of

NAME = "ResourceQuota"
_OLD_GROUP = "resourcequota.admission.k8s.io/"
_VERSIONS = (
    *(f"apiserver.config.k8s.io/{version}" for version in ("v1", "v1beta1", "v1alpha1")),
    *(f"{_OLD_GROUP}{version}" for version in ("v1beta1", "v1alpha1")),
)
_SCOPE = {"scopeName": Leaf.TEXT, "operator": Leaf.TEXT, "values": [Leaf.TEXT]}
_LIMITED = {
    "apiGroup": Leaf.TEXT,
    "resource": Leaf.TEXT,
    "matchContains": [Leaf.TEXT],
    "matchScopes": [_SCOPE],
}
# The subresources whose updates may use more; and the version in which an evaluator reads its objects.
_UPDATED = {("", "pods"): ("resize",), ("", "persistentvolumeclaims"): ("status",)}
_READ_IN = {("resource.k8s.io", "resourceclaims"): GroupVersion("resource.k8s.io", "v1")}


def _handles(resource: Resource, operation: Operation) -> bool:
    if not resource.namespaced or operation not in (Operation.CREATE, Operation.UPDATE):
        return False
    name = resource.group, resource.resource
    if resource.subresource and resource.subresource not in _UPDATED.get(name, ()):
        return False
    return evaluator_of(*name) is not None


def configure(document: Document) -> tuple[Limited, ...]:
    """The resources that need a quota, from a ResourceQuotaConfiguration. Raises InvalidConfiguration."""
    old = document is not None and str(document.get("apiVersion")).startswith(_OLD_GROUP)
    kind = "Configuration" if old else "ResourceQuotaConfiguration"
    try:
        return limited_of(of_kind(document, kind, _VERSIONS, {"limitedResources": [_LIMITED]}))
    except ValueError as error:
        raise InvalidConfiguration(str(error)) from None


def _validate(charges: Charges, limited: tuple[Limited, ...], admission: Admission) -> Found:
    if not (limited or charges.concern(admission.namespace)):
        return None
    resource = admission.resource
    evaluator = evaluator_of(resource.group, resource.resource)
    assert evaluator is not None
    version = _READ_IN.get((evaluator.group, evaluator.resource))
    if version is not None:
        return _convert_and_charge(charges, limited, admission, evaluator, version)
    return _charge(charges, limited, admission, evaluator, admission.obj, admission.old)


async def _convert_and_charge(
    charges: Charges,
    limited: tuple[Limited, ...],
    admission: Admission,
    evaluator: Evaluator,
    version: GroupVersion,
) -> Admission | None:
    found = _charge(charges, limited, admission, evaluator, *await admission.as_version(version))
    return found if found is None or isinstance(found, Admission) else await found


def _charge(
    charges: Charges,
    limited: tuple[Limited, ...],
    admission: Admission,
    evaluator: Evaluator,
    obj: JsonObject | None,
    old: JsonObject | None,
) -> Found:
    """Has the write charged to quotas, at once if there is room, else by an awaitable that waits for room."""
    assert obj is not None
    write = _written(admission, obj, old)
    if not evaluator.handles(write):
        return None
    resource = admission.resource
    prefix = f"{resource.storage_prefix}/".encode()
    refusal, apart = _refusal_of(admission), charges.are_apart(prefix)
    charged = Charged(admission.namespace, prefix, write, evaluator, limited, refusal, apart)
    found = charges.has_room(charged)
    if found is None:
        return _wait_for_room(charges, charged, admission)
    return admission.charged(Charging(charges, charged)) if found and not admission.dry_run else None


async def _wait_for_room(charges: Charges, charged: Charged, admission: Admission) -> Admission | None:
    found = await charges.admit(charged)
    return admission.charged(Charging(charges, charged)) if found and not admission.dry_run else None


def _written(admission: Admission, obj: JsonObject, old: JsonObject | None) -> EvaluatedWrite:
    new = admission.operation is Operation.CREATE and not admission.subresource
    return EvaluatedWrite(
        admission.operation, admission.subresource, obj, old, of_spec=admission.of_spec if new else each_time
    )


def _refusal_of(admission: Admission) -> Callable[[Exception], StatusError]:
    """Returns a function that makes the client's error from a refusal. It holds no reference to the admission, whose
    successor has one to the charge and so to this function.
    """
    meta = (admission.obj or {}).get("metadata") or {}
    name = admission.name or meta.get("name") or meta.get("generateName") or "Unknown"
    return partial(_refusal, admission.resource.group, admission.resource.resource, name)


def _refusal(group: str, resource: str, name: str, reason: Exception) -> StatusError:
    if isinstance(reason, Uncovered):
        return StatusError(500, "", str(reason))
    return forbidden(group, resource, name, str(reason))


def _make(parts: PluginParts) -> PluginReviews:
    limited = parts.configured[NAME]
    assert isinstance(limited, tuple)
    return PluginReviews(validate=partial(_validate, parts.charges, limited))


PLUGIN = Plugin(NAME, _handles, _make, configure=configure)
