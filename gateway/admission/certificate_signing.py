"""CertificateSigning: who signs a CSR must be allowed to sign for its signer (page "Certificates and CSRs")."""

from __future__ import annotations

from gateway.admission.chain import Plugin, looking_up, on
from gateway.admission.lookup import Lookup
from gateway.admission.refusal import refused
from gateway.kinds.attributes import Attributes, Operation
from gateway.validation.field import go_quote


async def _validate(attributes: Attributes, lookup: Lookup) -> None:
    obj, old = attributes.obj, attributes.old
    assert obj is not None
    assert old is not None
    status, before = obj.get("status") or {}, old.get("status") or {}
    if all(status.get(key) == before.get(key) for key in ("certificate", "conditions")):
        return
    signer = (old.get("spec") or {}).get("signerName", "")
    if not lookup.may_for_signer(attributes, "sign", signer):
        raise refused(attributes, old, f"user not permitted to sign requests with signerName {go_quote(signer)}")


PLUGIN = Plugin(
    "CertificateSigning",
    on("certificates.k8s.io/certificatesigningrequests/status", operations=(Operation.UPDATE,)),
    looking_up(validate=_validate),
)
