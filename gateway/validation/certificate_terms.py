"""What pods and their kubelets may request from a signer (API reference PodCertificateRequestSpec)."""

from __future__ import annotations

from gateway.validation.field import FieldError, too_long
from gateway.validation.formats import validate_domain_prefixed_key
from gateway.validation.labels import ANNOTATIONS_LIMIT, annotations_size

SHORTEST = 3600
_LONGEST, _LONGEST_OF_KUBERNETES = 91 * 24 * 3600, 24 * 3600


def longest_lifetime(signer: str) -> int:
    """The longest lifetime, in seconds, that a request may name for a signer. It is shorter for Kubernetes' signers."""
    domain = signer.partition("/")[0]
    own = domain == "kubernetes.io" or domain.endswith(".kubernetes.io")
    return _LONGEST_OF_KUBERNETES if own else _LONGEST


def validate_user_annotations(annotations: dict[str, str], path: str) -> list[FieldError]:
    """Checks annotations that the author of a pod passes to a signer. Keys need a domain; their case is ignored."""
    found = [error for key in annotations for error in validate_domain_prefixed_key(path, key.lower())]
    if annotations_size(annotations) > ANNOTATIONS_LIMIT:
        found.append(too_long(path, ANNOTATIONS_LIMIT))
    return found
