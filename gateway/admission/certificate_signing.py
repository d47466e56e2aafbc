"""CertificateSigning: who signs a CSR must be allowed to sign for its signer (page "Certificates and CSRs")."""

from __future__ import annotations

from functools import partial

from gateway.access.authorization import Authorizer
from gateway.admission.chain import Parts, Plugin, Reviews, on
from gateway.admission.refusal import refused
from gateway.admission.signers import may_for_signer
from gateway.kinds.attributes import Attributes, Operation
from gateway.validation.field import go_quote


async def _validate(authorizer: Authorizer, attributes: Attributes) -> None:
    obj, old = attributes.obj, attributes.old
    assert obj is not None
    assert old is not None
    status, before = obj.get("status") or {}, old.get("status") or {}
    if all(status.get(key) == before.get(key) for key in ("certificate", "conditions")):
        return
    signer = (old.get("spec") or {}).get("signerName", "")
    if not await may_for_signer(authorizer, attributes.user, "sign", signer):
        raise refused(attributes, old, f"user not permitted to sign requests with signerName {go_quote(signer)}")


def _make(parts: Parts) -> Reviews:
    return Reviews(validate=partial(_validate, parts.authorizer))


PLUGIN = Plugin(
    "CertificateSigning",
    on("certificates.k8s.io/certificatesigningrequests/status", operations=(Operation.UPDATE,)),
    _make,
)
