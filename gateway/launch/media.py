"""The media types of answers that the feature gate CBORServingAndStorage decides."""

from __future__ import annotations

from gateway.http.negotiation import RESOURCES_IN_CBOR, STANDARD, WITH_CBOR, Negotiator
from gateway.release.gates import Gates


def media_of(gates: Gates) -> Negotiator:
    """The negotiator of resources. The one of documents (`of_documents`) has CBOR since DocumentsInCBOR."""
    if not gates.enabled("CBORServingAndStorage"):
        return STANDARD
    return WITH_CBOR if gates.enabled("DocumentsInCBOR") else RESOURCES_IN_CBOR
