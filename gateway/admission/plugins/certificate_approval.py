"""CertificateApproval: to approve a CSR, a user must be allowed to approve for its signer ("Certificates and CSRs")."""

from __future__ import annotations

from gateway.access.authorization import Authorizer
from gateway.admission.chain import Plugin, on
from gateway.admission.plugins.signers import require_for_signer, validating
from gateway.admission.record import Admission
from gateway.kinds.attributes import Operation


async def _validate(authorizer: Authorizer, admission: Admission) -> None:
    old = admission.old
    assert old is not None
    await require_for_signer(authorizer, admission, old, "approve")


PLUGIN = Plugin(
    "CertificateApproval",
    on("certificates.k8s.io/certificatesigningrequests/approval", operations=(Operation.UPDATE,)),
    validating(_validate),
)
