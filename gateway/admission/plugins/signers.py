"""Asks whether a user may approve or sign for a signer (page "Certificates and Certificate Signing Requests")."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from gateway.access.authorization import Authorizer, may_for_signer
from gateway.admission.chain import PluginParts, PluginReviews
from gateway.admission.record import Admission
from gateway.admission.refusal import refused
from gateway.jsontypes import JsonObject
from gateway.validation.field import go_quote


def validating(validate: Callable[[Authorizer, Admission], Awaitable[None]]) -> Callable[[PluginParts], PluginReviews]:
    """The `make` of a plug-in whose validating half is a function that asks the authorizer."""
    return lambda parts: PluginReviews(validate=partial(validate, parts.authorizer))


async def require_for_signer(authorizer: Authorizer, admission: Admission, request: JsonObject, verb: str) -> None:
    """Raises StatusError 403 unless the user may `verb` ("approve", "sign") for the signer of a CSR."""
    signer = (request.get("spec") or {}).get("signerName", "")
    if not await may_for_signer(authorizer, admission.user, signer, verb):
        raise refused(admission, request, f"user not permitted to {verb} requests with signerName {go_quote(signer)}")
