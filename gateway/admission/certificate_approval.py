"""CertificateApproval: who approves a CSR must be allowed to approve for its signer (page "Certificates and CSRs")."""

from __future__ import annotations

from gateway.admission.chain import Plugin, looking_up, on
from gateway.admission.lookup import Lookup
from gateway.admission.refusal import refused
from gateway.kinds.attributes import Attributes, Operation
from gateway.validation.field import go_quote


async def _validate(attributes: Attributes, lookup: Lookup) -> None:
    old = attributes.old
    assert old is not None
    signer = (old.get("spec") or {}).get("signerName", "")
    if not lookup.may_for_signer(attributes, "approve", signer):
        raise refused(attributes, old, f"user not permitted to approve requests with signerName {go_quote(signer)}")


PLUGIN = Plugin(
    "CertificateApproval",
    on("certificates.k8s.io/certificatesigningrequests/approval", operations=(Operation.UPDATE,)),
    looking_up(validate=_validate),
)
