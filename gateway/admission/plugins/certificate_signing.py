"""CertificateSigning: to sign a CSR, a user must be allowed to sign for its signer ("Certificates and CSRs")."""

from __future__ import annotations

from gateway.access.authorization import Authorizer
from gateway.admission.chain import Plugin, on
from gateway.admission.plugins.signers import require_for_signer, validating
from gateway.admission.record import Admission
from gateway.kinds.attributes import Operation


async def _validate(authorizer: Authorizer, admission: Admission) -> None:
    obj, old = admission.obj, admission.old
    assert obj is not None
    assert old is not None
    status, before = obj.get("status") or {}, old.get("status") or {}
    if all(status.get(key) == before.get(key) for key in ("certificate", "conditions")):
        return
    await require_for_signer(authorizer, admission, old, "sign")


PLUGIN = Plugin(
    "CertificateSigning",
    on("certificates.k8s.io/certificatesigningrequests/status", operations=(Operation.UPDATE,)),
    validating(_validate),
)
