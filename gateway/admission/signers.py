"""Who may approve or sign for a signer of certificates (page "Certificates and Certificate Signing Requests")."""

from __future__ import annotations

from gateway.access.authorization import Authorizer, asked_of_resource
from gateway.http.user import User

GROUP = "certificates.k8s.io"


async def may_for_signer(authorizer: Authorizer, user: User, verb: str, signer: str) -> bool:
    """Whether a user may `verb` ("approve", "sign", "attest") for a signer, by its name or by its domain."""
    for name in (signer, f"{signer.partition('/')[0]}/*"):
        asked = asked_of_resource(user, verb, GROUP, "signers", name)
        if (await authorizer.authorize(asked)).allowed:
            return True
    return False
