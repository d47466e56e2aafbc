"""Projected volumes with trust bundles (KEP-3257) and with a certificate of the pod (KEP-4317)."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.validation.certificate_terms import SHORTEST, longest_lifetime, validate_user_annotations
from gateway.validation.field import FieldError, invalid, not_supported, required
from gateway.validation.go_structs import verbatim
from gateway.validation.labels import validate_label_selector
from gateway.validation.local_paths import validate_local_non_reserved_path
from gateway.validation.signers import validate_signer_name
from gateway.validation.trust_bundle import name_rule
from gateway.validation.volume_sources import validate_user

KEY_TYPES = ("RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")
_FILES = ("credentialBundlePath", "keyPath", "certificateChainPath")


def validate_certificates(
    source: JsonObject, path: str, volume_path: str, errors: list[FieldError], taken: set[str]
) -> int:
    """Checks the trust bundle and the certificate in one source of a projected volume; returns how many of both it has.

    `taken` has the paths of files in the volume so far; the new ones are added.
    """
    count = 0
    if (bundle := source.get("clusterTrustBundle")) is not None:
        count += 1
        _bundle(bundle, f"{path}.clusterTrustBundle", errors)
        _take(bundle.get("path", ""), volume_path, errors, taken)
    if (certificate := source.get("podCertificate")) is not None:
        count += 1
        _certificate(certificate, f"{path}.podCertificate", errors)
        _files(certificate, f"{path}.podCertificate", volume_path, errors, taken)
    return count


def _bundle(bundle: JsonObject, path: str, errors: list[FieldError]) -> None:
    name, signer, selector = bundle.get("name"), bundle.get("signerName"), bundle.get("labelSelector")
    if name is not None and signer is not None:
        shown = verbatim("ClusterTrustBundleProjection", bundle)
        errors.append(invalid(path, shown, "only one of name and signerName may be used"))
    elif name is not None:
        if not name:
            errors.append(required(f"{path}.name", "must be a valid object name"))
        of_signer = name.rpartition(":")[0].replace(":", "/")
        wrong = name_rule(of_signer)(name, False)
        errors += [invalid(f"{path}.name", name, f"not a valid clustertrustbundlename: {each}") for each in wrong]
        if selector is not None:
            shown = verbatim("io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector", selector)
            errors.append(invalid(f"{path}.labelSelector", shown, "labelSelector must be unset if name is specified"))
    elif signer is not None:
        if not signer:
            errors.append(required(f"{path}.signerName", "must be a valid signer name"))
        errors += validate_signer_name(signer, f"{path}.signerName")
        errors += validate_label_selector(selector, f"{path}.labelSelector")
    else:
        errors.append(required(path, "either name or signerName must be specified"))
    if not bundle.get("path"):
        errors.append(required(f"{path}.path"))
    validate_user(bundle, "user", path, errors)
    errors += validate_local_non_reserved_path(bundle.get("path", ""), f"{path}.path")


def _certificate(certificate: JsonObject, path: str, errors: list[FieldError]) -> None:
    signer, kind = certificate.get("signerName", ""), certificate.get("keyType", "")
    errors += validate_signer_name(signer, f"{path}.signerName")
    errors += validate_user_annotations(certificate.get("userAnnotations") or {}, f"{path}.userAnnotations")
    validate_user(certificate, "user", path, errors)
    if kind not in KEY_TYPES:
        errors.append(not_supported(f"{path}.keyType", kind, KEY_TYPES))
    if (seconds := certificate.get("maxExpirationSeconds")) is None:
        return
    at, longest = f"{path}.maxExpirationSeconds", longest_lifetime(signer)
    if seconds < SHORTEST:
        errors.append(invalid(at, seconds, f"if provided, maxExpirationSeconds must be >= {SHORTEST}"))
    if seconds > longest:
        errors.append(invalid(at, seconds, f"if provided, maxExpirationSeconds must be <= {longest}"))


def _files(certificate: JsonObject, path: str, volume_path: str, errors: list[FieldError], taken: set[str]) -> None:
    for key in _FILES:
        if target := certificate.get(key):
            errors += validate_local_non_reserved_path(target, f"{path}.{key}")
            _take(target, volume_path, errors, taken)
    if not any(certificate.get(key) for key in _FILES):
        text = "specify at least one of credentialBundlePath, keyPath, and certificateChainPath"
        errors.append(required(path, text))


def _take(target: str, volume_path: str, errors: list[FieldError], taken: set[str]) -> None:
    if target in taken:
        errors.append(invalid(volume_path, target, "conflicting duplicate paths"))
    taken.add(target)
