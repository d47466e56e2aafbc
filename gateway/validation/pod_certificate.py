"""PodCertificateRequests: what a kubelet requests, and what a signer issues (KEP-4317 "Pod Certificates").

The size is checked before content is parsed: of a request against MAX_REQUEST, of a chain against MAX_CHAIN.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from gateway.certificate_reader import (
    UnsupportedKey,
    certificate_of,
    extensions_of,
    is_self_signed,
    public_key_of,
    request_of,
)
from gateway.jsontypes import JsonObject
from gateway.pem import PemBlock, blocks
from gateway.validation.certificate_terms import SHORTEST, longest_lifetime, validate_user_annotations
from gateway.validation.field import FieldError, invalid, required, too_long, valueless
from gateway.validation.names import byte_length, name_is_dns_subdomain
from gateway.validation.schema_formats import format_check
from gateway.validation.signers import validate_signer_name

MAX_REQUEST, MAX_CHAIN, MAX_UID = 10 * 1024, 100 * 1024, 128
REQUEST, CHAIN = "spec.stubPKCS10Request", "status.certificateChain"
_CURVES = (ec.SECP256R1, ec.SECP384R1, ec.SECP521R1)
_MODULUS = (3072, 4096)
_NOT_BEFORE, _NOT_AFTER, _REFRESH = "status.notBefore", "status.notAfter", "status.beginRefreshAt"
_AT_ONCE, _MARGIN = timedelta(minutes=5), timedelta(minutes=10)
_TIMES = {
    "notBefore": "must be present and consistent with the issued certificate",
    "notAfter": "must be present and consistent with the issued certificate",
    "beginRefreshAt": "must be present and in the range [notbefore+10min, notafter-10min]",
}
_NAMED = (("podName", "podUID"), ("serviceAccountName", "serviceAccountUID"), ("nodeName", "nodeUID"))


def validate_request(spec: JsonObject) -> list[FieldError]:
    """The errors of the spec of a new request."""
    signer = spec.get("signerName", "")
    found = validate_signer_name(signer, "spec.signerName")
    found += validate_user_annotations(spec.get("unverifiedUserAnnotations") or {}, "spec.unverifiedUserAnnotations")
    for name, uid in _NAMED:
        value = spec.get(name, "")
        found += [invalid(f"spec.{name}", value, text) for text in name_is_dns_subdomain(value, False)]
        if not (value := spec.get(uid, "")):
            found.append(invalid(f"spec.{uid}", value, "must not be empty"))
        if byte_length(value) > MAX_UID:
            found.append(too_long(f"spec.{uid}", MAX_UID))
    seconds, longest = spec.get("maxExpirationSeconds"), longest_lifetime(signer)
    if seconds is None:
        return [*found, required("spec.maxExpirationSeconds", "must be set")]
    if not SHORTEST <= seconds <= longest:
        found.append(invalid("spec.maxExpirationSeconds", seconds, f"must be in the range [{SHORTEST}, {longest}]"))
    if not spec.get("stubPKCS10Request"):
        either = "exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set"
        return [*found, valueless("spec", either)]
    return found + _signed(base64.b64decode(spec["stubPKCS10Request"]))


def _signed(der: bytes) -> list[FieldError]:
    """The errors of a PKCS#10 request in DER: of its key, or its signature."""
    if len(der) > MAX_REQUEST:
        return [too_long(REQUEST, MAX_REQUEST)]
    unknown = "unknown public key type; supported types are Ed25519, ECDSA, and RSA"
    try:
        request = request_of(der)
        key = public_key_of(request)
    except UnsupportedKey:
        return [valueless(REQUEST, unknown)]
    except ValueError:
        return [valueless(REQUEST, "must be a valid PKCS#10 CSR")]
    match key:
        case ed25519.Ed25519PublicKey():
            pass
        case ec.EllipticCurvePublicKey():
            if not isinstance(key.curve, _CURVES):
                shown = f"curve {_curve(key.curve)}"
                return [invalid(REQUEST, shown, "elliptic public keys must use curve P256, P384, or P521")]
        case rsa.RSAPublicKey():
            if (bits := (key.key_size + 7) // 8 * 8) not in _MODULUS:
                return [invalid(REQUEST, f"{bits}-bit modulus", "RSA keys must have modulus size 3072 or 4096")]
        case _:
            return [valueless(REQUEST, unknown)]
    return [] if _is_signed(request) else [valueless(REQUEST, "invalid signature")]


def _curve(curve: ec.EllipticCurve) -> str:
    return "P-224" if isinstance(curve, ec.SECP224R1) else curve.name


def _is_signed(request: x509.CertificateSigningRequest) -> bool:
    try:
        return is_self_signed(request)
    except (UnsupportedAlgorithm, ValueError):
        return False


def validate_issued(status: JsonObject, spec: JsonObject, now: str) -> list[FieldError]:
    """The errors of the certificate in `status`, for a request with `spec`. `now` is the time of the write."""
    chain = status.get("certificateChain", "")
    if byte_length(chain) > MAX_CHAIN:
        return [too_long(CHAIN, MAX_CHAIN)]
    rest = blocks(chain.encode())
    first = next(rest, None)
    if first is None:
        return [invalid(CHAIN, chain, "issued certificate chain must contain at least one certificate")]
    if first.kind != "CERTIFICATE":
        return [invalid(CHAIN, chain, "issued certificate chain must consist entirely of CERTIFICATE PEM blocks")]
    try:
        leaf = certificate_of(first.content)
        dns, emails = _names(leaf)
        issued_to = _key_bytes(public_key_of(leaf))
    except ValueError:
        return [invalid(CHAIN, chain, "leaf certificate does not parse as valid X.509")]
    found = [*_wrong_names(dns, emails)]
    try:
        wanted = _key_bytes(public_key_of(request_of(base64.b64decode(spec.get("stubPKCS10Request") or ""))))
    except ValueError:
        return [*found, valueless(REQUEST, "must be a valid PKCS#10 CSR")]
    if wanted != issued_to:
        return [*found, invalid(CHAIN, chain, "leaf certificate was not issued to the requested public key")]
    found += [required(f"status.{key}", text) for key, text in _TIMES.items() if not status.get(key)]
    return found or _wrong_times(status, spec, leaf, now) or _wrong_rest(chain, rest)


def _key_bytes(key: object) -> bytes:
    """The DER form of a public key, in which keys are compared; b"" for a key of another type."""
    if not isinstance(key, ed25519.Ed25519PublicKey | ec.EllipticCurvePublicKey | rsa.RSAPublicKey):
        return b""
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def _names(leaf: x509.Certificate) -> tuple[list[str], list[str]]:
    try:
        names = extensions_of(leaf).get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return [], []
    return names.get_values_for_type(x509.DNSName), names.get_values_for_type(x509.RFC822Name)


def _wrong_names(dns: list[str], emails: list[str]) -> Iterator[FieldError]:
    for name in dns:
        if not name:
            yield invalid(CHAIN, name, "leaf certificate should not contain empty DNSName")
        if ".." in name:
            yield invalid(CHAIN, name, "leaf certificate's DNSName should not contain '..'")
        if name.startswith(".") or name.endswith("."):
            yield invalid(CHAIN, name, "leaf certificate's DNSName should not start or end with '.'")
    is_email = format_check("email")
    for name in emails:
        if is_email is not None and not is_email(name):
            yield invalid(CHAIN, name, "leaf certificate should not contain invalid EmailAddress")


def _wrong_times(status: JsonObject, spec: JsonObject, leaf: x509.Certificate, now: str) -> list[FieldError]:
    begin, end, refresh = (status[key] for key in _TIMES)
    starts, ends, refreshes = _moment(begin), _moment(end), _moment(refresh)
    try:
        first, last = leaf.not_valid_before_utc, leaf.not_valid_after_utc
    except ValueError:
        return [invalid(CHAIN, status["certificateChain"], "leaf certificate does not parse as valid X.509")]
    if starts is None or starts != first:
        return [invalid(_NOT_BEFORE, begin, "must be set to the NotBefore time encoded in the leaf certificate")]
    present = _moment(now)
    if present is None or abs(starts - present) >= _AT_ONCE:
        return [invalid(_NOT_BEFORE, begin, "must be set to within 5 minutes of kube-apiserver's current time")]
    if ends is None or ends != last:
        return [invalid(_NOT_AFTER, end, "must be set to the NotAfter time encoded in the leaf certificate")]
    lifetime = int((ends - starts).total_seconds())
    if lifetime < SHORTEST:
        return [invalid(CHAIN, lifetime * 10**9, "leaf certificate lifetime must be >= 1 hour")]
    if lifetime > (longest := spec.get("maxExpirationSeconds") or 0):
        text = f"leaf certificate lifetime must be <= spec.maxExpirationSeconds ({longest})"
        return [invalid(CHAIN, lifetime * 10**9, text)]
    if refreshes is None or refreshes < starts + _MARGIN:
        return [invalid(_REFRESH, refresh, "must be at least 10 minutes after status.notBefore")]
    if refreshes > ends - _MARGIN:
        return [invalid(_REFRESH, refresh, "must be at least 10 minutes before status.notAfter")]
    return []


def _wrong_rest(chain: str, rest: Iterator[PemBlock]) -> list[FieldError]:
    for block in rest:
        if block.kind != "CERTIFICATE":
            return [invalid(CHAIN, chain, "issued certificate chain must consist entirely of CERTFICATE PEM blocks")]
        try:
            certificate_of(block.content)
        except ValueError:
            return [invalid(CHAIN, chain, "intermediate certificate does not parse as valid X.509")]
    return []


def _moment(text: str) -> datetime | None:
    """The time in UTC; None for a year that `datetime` does not have, and no certificate either."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
