"""CertificateSigning: who signs a CSR must be allowed to sign for its signer (page "Certificates and CSRs")."""

from __future__ import annotations

from gateway.admission.chain import Operation, Plugin, on
from gateway.admission.lookup import Lookup
from gateway.admission.refusal import refused
from gateway.jsontypes import JsonObject
from gateway.kinds.strategy import WriteContext
from gateway.validation.field import go_quote


async def _validate(obj: JsonObject | None, old: JsonObject | None, context: WriteContext, lookup: Lookup) -> None:
    assert obj is not None
    assert old is not None
    status, before = obj.get("status") or {}, old.get("status") or {}
    if all(status.get(key) == before.get(key) for key in ("certificate", "conditions")):
        return
    signer = (old.get("spec") or {}).get("signerName", "")
    if not lookup.may_for_signer(context, "sign", signer):
        raise refused(context, old, f"user not permitted to sign requests with signerName {go_quote(signer)}")


PLUGIN = Plugin(
    "CertificateSigning",
    on("certificates.k8s.io/certificatesigningrequests/status", operations=(Operation.UPDATE,)),
    validate=_validate,
)
