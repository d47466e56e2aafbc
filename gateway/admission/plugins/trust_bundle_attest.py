"""ClusterTrustBundleAttest: to publish a signer's trust anchors, a user must be allowed to attest for the signer."""

from __future__ import annotations

from functools import partial

from gateway.access.authorization import Authorizer, may_for_signer
from gateway.admission.chain import Plugin, PluginParts, PluginReviews, on
from gateway.admission.record import Admission
from gateway.admission.refusal import refused
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Operation
from gateway.validation.field import go_quote

_KEPT_BY_OTHERS = ("ownerReferences", "finalizers", "managedFields", "resourceVersion", "generation")


async def _validate(authorizer: Authorizer, admission: Admission) -> None:
    obj, old = admission.obj, admission.old
    assert obj is not None
    signer = (obj.get("spec") or {}).get("signerName", "")
    if not signer or (old is not None and _essence(obj) == _essence(old)):
        return
    if not await may_for_signer(authorizer, admission.user, signer, "attest"):
        raise refused(admission, obj, f"user not permitted to attest for signerName {go_quote(signer)}")


def _essence(bundle: JsonObject) -> JsonObject:
    """A bundle without the metadata that the garbage collector and storage change."""
    meta = {key: value for key, value in bundle["metadata"].items() if key not in _KEPT_BY_OTHERS}
    return {**bundle, "metadata": meta}


def _make(parts: PluginParts) -> PluginReviews:
    return PluginReviews(validate=partial(_validate, parts.authorizer))


PLUGIN = Plugin(
    "ClusterTrustBundleAttest",
    on("certificates.k8s.io/clustertrustbundles", operations=(Operation.CREATE, Operation.UPDATE)),
    _make,
)
