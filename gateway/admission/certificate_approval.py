"""CertificateApproval: who approves a CSR must be allowed to approve for its signer (page "Certificates and CSRs")."""

from __future__ import annotations

from gateway.admission.chain import Operation, Plugin, on
from gateway.admission.lookup import Lookup
from gateway.admission.refusal import refused
from gateway.jsontypes import JsonObject
from gateway.kinds.strategy import WriteContext
from gateway.validation.field import go_quote


async def _validate(obj: JsonObject | None, old: JsonObject | None, context: WriteContext, lookup: Lookup) -> None:
    assert old is not None
    signer = (old.get("spec") or {}).get("signerName", "")
    if not lookup.may_for_signer(context, "approve", signer):
        raise refused(context, old, f"user not permitted to approve requests with signerName {go_quote(signer)}")


PLUGIN = Plugin(
    "CertificateApproval",
    on("certificates.k8s.io/certificatesigningrequests/approval", operations=(Operation.UPDATE,)),
    validate=_validate,
)
