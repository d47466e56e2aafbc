"""Who may sign PodCertificateRequests (page "Certificates and Certificate Signing Requests", "Authorization")."""

from __future__ import annotations

from gateway.access.authorization import Authorizer, may_for_signer
from gateway.jsontypes import JsonObject
from gateway.kinds.write_context import WriteContext
from gateway.validation.checks import same
from gateway.validation.field import FieldError, forbidden, go_quote


class SignerRights:
    """Checks changes of a PodCertificateRequest's status: they need the right to sign for its signer."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    async def errors(self, context: WriteContext, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """The errors of a write that replaces `old` by `obj`."""
        before = old or {}
        if same(obj.get("status") or {}, before.get("status") or {}):
            return []
        signer = (before.get("spec") or {}).get("signerName", "")
        if await may_for_signer(self._authorizer, context.user, signer, "sign"):
            return []
        who = go_quote(context.user.name)
        return [forbidden("spec.signerName", f'User {who} is not permitted to "sign" for signer {go_quote(signer)}')]
