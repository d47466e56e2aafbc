"""What pods and their kubelets may ask of a signer (API reference PodCertificateRequestSpec)."""

from __future__ import annotations

from gateway.validation.field import FieldError, too_long
from gateway.validation.formats import validate_domain_prefixed_key
from gateway.validation.labels import ANNOTATIONS_LIMIT, annotations_size

SHORTEST = 3600
_LONGEST, _LONGEST_OF_KUBERNETES = 91 * 24 * 3600, 24 * 3600


def longest_lifetime(signer: str) -> int:
    """The most seconds for which a signer's certificates may be asked: less for Kubernetes' own."""
    domain = signer.partition("/")[0]
    own = domain == "kubernetes.io" or domain.endswith(".kubernetes.io")
    return _LONGEST_OF_KUBERNETES if own else _LONGEST


def validate_user_annotations(annotations: dict[str, str], path: str) -> list[FieldError]:
    """What an author of pods tells a signer: the keys have domains, whatever their case is."""
    found = [error for key in annotations for error in validate_domain_prefixed_key(path, key.lower())]
    if annotations_size(annotations) > ANNOTATIONS_LIMIT:
        found.append(too_long(path, ANNOTATIONS_LIMIT))
    return found
