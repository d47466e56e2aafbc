"""CertificateApproval: who approves a CSR must be allowed to approve for its signer (page "Certificates and CSRs")."""

from __future__ import annotations

from functools import partial

from gateway.access.authorization import Authorizer
from gateway.admission.chain import Parts, Plugin, Reviews, on
from gateway.admission.plugins.signers import require_for_signer
from gateway.admission.record import Admission, Operation


async def _validate(authorizer: Authorizer, admission: Admission) -> None:
    old = admission.old
    assert old is not None
    await require_for_signer(authorizer, admission, old, "approve")


def _make(parts: Parts) -> Reviews:
    return Reviews(validate=partial(_validate, parts.authorizer))


PLUGIN = Plugin(
    "CertificateApproval",
    on("certificates.k8s.io/certificatesigningrequests/approval", operations=(Operation.UPDATE,)),
    _make,
)
