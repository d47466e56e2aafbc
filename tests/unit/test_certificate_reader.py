"""Clients' certificates and requests: each invalid one gives an error message, and no failure of the server."""

from __future__ import annotations

import ast
import base64
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.types import CertificateIssuerPrivateKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from gateway.certificate_reader import (
    LARGEST,
    TooLong,
    UnsupportedCurve,
    certificate_of,
    extensions_of,
    public_key_of,
    request_of,
    request_of_pem,
    subject_of,
)
from gateway.credentials.certificates import new_authority
from gateway.validation.certificate_pem import certificates_problem, request_problem
from gateway.validation.key_pairs import key_pair_problem
from gateway.validation.trust_bundle import validate_anchors
from tests.unit.sources import tree_of, with_word

AUTHORITY = new_authority()
DER = x509.load_pem_x509_certificate(AUTHORITY.certificate).public_bytes(Encoding.DER)
VERSION = bytes.fromhex("a003020102")
CONSTRAINTS, KEY_USAGE = bytes.fromhex("0603551d13"), bytes.fromhex("0603551d0f")

# readers of what the operator gives, or of what this server has made
OTHERS = {
    "gateway.access.certificate_chains": "of a TLS handshake: whatever fails is not a certificate",
    "gateway.access.client_certificates": "a file of a flag",
    "gateway.access.keys": "a file of a flag",
    "gateway.access.signing_authority": "the CA of this server",
    "gateway.commands.shared_secrets": "made by this program",
    "gateway.credentials.certificates": "made by this program",
    "gateway.credentials.named_certificates": "a file of a flag",
    "gateway.credentials.validity": "a file of a flag",
}

# the library parses a key of a client only where its algorithm was looked at
KEYS = {
    "gateway.certificate_reader": "looks at the algorithm",
    "gateway.validation.private_keys": "looks at the algorithm, and tests no numbers for being prime",
    "gateway.access.keys": "a file of a flag",
    "gateway.access.signing_authority": "the CA of this server",
    "gateway.credentials.certificates": "made by this program",
}
PARSING_KEYS = (
    *("public_key", "is_signature_valid", "load_pem_private_key", "load_der_private_key", "load_ssh_private_key"),
    *("load_pem_public_key", "load_der_public_key", "load_pem_parameters", "load_der_parameters"),
)


def pem(der: bytes) -> bytes:
    return b"-----BEGIN CERTIFICATE-----\n" + base64.encodebytes(der) + b"-----END CERTIFICATE-----\n"


def of_version(number: int) -> bytes:
    assert VERSION in DER
    return DER.replace(VERSION, VERSION[:-1] + bytes([number]))


def twice_an_extension() -> bytes:
    assert CONSTRAINTS in DER and KEY_USAGE in DER
    return DER.replace(KEY_USAGE, CONSTRAINTS)


@pytest.mark.parametrize("der", [of_version(5), b"", b"\x30\x03\x02\x01\x00", DER[:-1]])
def test_what_is_no_certificate_is_a_value_error(der: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        certificate_of(der)
    with pytest.raises(ValueError, match=r"."):
        request_of(der)
    assert certificates_problem(pem(der)) == "x509: malformed certificate"


def test_what_is_read_late_is_a_value_error_too() -> None:
    doubled = certificate_of(twice_an_extension())
    with pytest.raises(ValueError, match=r"."):
        extensions_of(doubled)
    assert public_key_of(doubled) is not None


@pytest.mark.parametrize("tag", [0x02, 0x03, 0x1B, 0x1C, 0x80], ids=["number", "bits", "general", "universal", "none"])
def test_a_subject_of_other_types_is_a_value_error(tag: int) -> None:
    """The library raises TypeError for bits, and asks for them only when the subject is parsed."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "abcdefgh")])
    request = x509.CertificateSigningRequestBuilder(name).sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
    der = request.public_bytes(Encoding.DER)
    assert der.count(b"\x0c\x08abcdefgh") == 1
    with pytest.raises(ValueError, match=r"."):
        subject_of(request_of(der.replace(b"\x0c\x08abcdefgh", bytes([tag]) + b"\x08abcdefgh")))


def test_subjects_of_clients_are_read_by_one_module() -> None:
    """`subject` of a certificate or request parses. The others of this name are fields of the server's own."""
    others = {"gateway.credentials.certificates": "made by this program", "gateway.access.certificate_chains": "facts"}
    reading = {
        name
        for name in with_word("x509", "certificate_reader")
        if name.startswith("gateway.")
        for node in ast.walk(tree_of(name))
        if isinstance(node, ast.Attribute) and node.attr == "subject"
    }
    assert reading == {"gateway.certificate_reader", *others}, "call subject_of"


def test_a_pair_and_a_bundle_say_what_is_wrong_with_a_certificate() -> None:
    assert key_pair_problem(pem(of_version(5)), AUTHORITY.key) == "x509: malformed certificate"
    for der in (of_version(5), twice_an_extension()):
        (error,) = validate_anchors(pem(der).decode(), "spec.trustBundle")
        assert "does not parse as X.509" in str(error)


def asked(name: str) -> bytes:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject)
    return builder.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256()).public_bytes(Encoding.PEM)


BEGIN, END = b"-----BEGIN CERTIFICATE REQUEST-----", b"-----END CERTIFICATE REQUEST-----"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (END, END + b" x"),
        (BEGIN + b"\n", BEGIN),
        (BEGIN, b"xx" + BEGIN),
        (END, END + b" ."),
        (b"\n", b"\r"),
        (END, b"-----END NEW CERTIFICATE REQUEST-----"),
    ],
)
def test_a_request_is_the_one_that_go_finds(old: bytes, new: bytes) -> None:
    """An approver sees, in kubectl, the block that is signed. The cryptography package alone would read another one."""
    hidden = asked("hidden").replace(old, new)
    if old == b"\n":
        hidden += b"\n"
    text = hidden + asked("shown")
    assert request_problem(text) == ""
    assert request_of_pem(text).subject.rfc4514_string() == "CN=shown"


def test_a_request_comes_first() -> None:
    with pytest.raises(ValueError, match="PEM block type must be CERTIFICATE REQUEST"):
        request_of_pem(pem(DER) + asked("ada"))


def _request(der: bytes) -> bytes:
    return pem(der).replace(b"CERTIFICATE", b"CERTIFICATE REQUEST")


def _signed(key: CertificateIssuerPrivateKeyTypes, hashed: Any, pss: bool = False) -> bytes:
    builder = x509.CertificateSigningRequestBuilder(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ada")]))
    pad = padding.PSS(padding.MGF1(hashed), hashed.digest_size) if pss else None
    return builder.sign(key, hashed, rsa_padding=pad).public_bytes(Encoding.DER)


SHORT = b"""-----BEGIN CERTIFICATE REQUEST-----
MIHTMH8CAQAwGjEKMAgGA1UECgwBeDEMMAoGA1UEAwwDam9lMFwwDQYJKoZIhvcN
AQEBBQADSwAwSAJBAKxaitExgumKpa+BIyXe3GqOCa8GuVcOVb0MPbeWFCkU+Ons
0t+muMw/KAJ0ITJMwj5nD7SdqsGODGA2U+1JgEcCAwEAAaAAMA0GCSqGSIb3DQEB
CwUAA0EAAh9ukttzi/N7+knAmKmwnP5oJys49BhWN+23WiROndA5lOq2oFWq3dqM
KwK4tVXVWJ8vlkY0cRmNZonziIusIA==
-----END CERTIFICATE REQUEST-----
"""
START = datetime(2026, 1, 1, tzinfo=UTC)
RSA, EC, ED = rsa.generate_private_key(65537, 2048), ec.generate_private_key(ec.SECP256R1()), ed25519.Ed25519PrivateKey
SIGNED = {
    "RSA with SHA-256": (_signed(RSA, hashes.SHA256()), "crypto/rsa: verification error"),
    "RSA with PSS": (_signed(RSA, hashes.SHA256(), pss=True), "crypto/rsa: verification error"),
    "ECDSA": (_signed(EC, hashes.SHA256()), "x509: ECDSA verification failure"),
    "Ed25519": (_signed(ED.generate(), None), "x509: Ed25519 verification failure"),
}


@pytest.mark.parametrize("case", SIGNED)
def test_a_wrong_signature_is_told_in_the_words_of_its_algorithm(case: str) -> None:
    der, problem = SIGNED[case]
    wrong = der[:-3] + bytes([der[-3] ^ 1]) + der[-2:]
    assert [request_problem(_request(each)) for each in (der, wrong)] == ["", problem]


def test_a_request_may_be_signed_with_sha_1_and_not_with_md5() -> None:
    """Requests of the library cannot have either: the algorithm's name and the signature are exchanged here."""
    of_sha256 = _signed(RSA, hashes.SHA256())
    signed = x509.load_der_x509_csr(of_sha256).tbs_certrequest_bytes
    kept = of_sha256[:-256]
    with_sha_1 = kept.replace(b"\x01\x01\x0b", b"\x01\x01\x05") + RSA.sign(signed, padding.PKCS1v15(), hashes.SHA1())
    assert request_problem(_request(with_sha_1)) == ""
    with_md5 = kept.replace(b"\x01\x01\x0b", b"\x01\x01\x04") + RSA.sign(signed, padding.PKCS1v15(), hashes.SHA1())
    insecure = "x509: cannot verify signature: insecure algorithm MD5-RSA"
    assert request_problem(_request(with_md5)) == insecure
    with_sha_224 = of_sha256.replace(b"\x01\x01\x0b", b"\x01\x01\x0e")
    unknown = "x509: cannot verify signature: algorithm unimplemented"
    assert request_problem(_request(with_sha_224)) == unknown


@pytest.mark.parametrize("curve", [ec.SECP256K1(), ec.BrainpoolP256R1()], ids=lambda curve: curve.name)
def test_a_key_on_a_curve_that_go_does_not_know_is_refused(curve: ec.EllipticCurve) -> None:
    request = _signed(ec.generate_private_key(curve), hashes.SHA256())
    assert request_problem(_request(request)) == "x509: unsupported elliptic curve"
    with pytest.raises(UnsupportedCurve):
        public_key_of(request_of(request))


def test_a_trust_anchor_on_a_curve_that_go_does_not_know_is_refused() -> None:
    for curve, problems in ((ec.SECP256K1(), ["does not parse as X.509"]), (ec.SECP256R1(), [])):
        key, name = ec.generate_private_key(curve), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ada")])
        builder = x509.CertificateBuilder(name, name, key.public_key(), 1, START, START + timedelta(days=1))
        anchor = builder.add_extension(x509.BasicConstraints(True, None), True).sign(key, hashes.SHA256())
        found = validate_anchors(anchor.public_bytes(Encoding.PEM).decode(), "spec.trustBundle")
        assert [problem in str(error) for error, problem in zip(found, problems, strict=True)] == [True] * len(problems)


def test_a_signature_of_a_short_rsa_key_is_refused() -> None:
    """The library makes no such key; openssl has made this one of 512 bits."""
    insecure = "crypto/rsa: 512-bit keys are insecure (see https://go.dev/pkg/crypto/rsa#hdr-Minimum_key_size)"
    assert request_problem(SHORT) == insecure


def test_certificates_of_clients_are_read_by_one_module() -> None:
    reading = {
        name
        for name in with_word("load_der_x509", "load_pem_x509")
        if name.startswith("gateway.")
        for node in ast.walk(tree_of(name))
        if isinstance(node, ast.Attribute | ast.alias)
        and (node.attr if isinstance(node, ast.Attribute) else node.name).startswith(("load_der_x509", "load_pem_x509"))
    }
    assert reading == {"gateway.certificate_reader", *OTHERS}


def test_keys_of_clients_are_read_by_two_modules() -> None:
    reading = {
        name
        for name in with_word(*PARSING_KEYS)
        if name.startswith("gateway.")
        for node in ast.walk(tree_of(name))
        if (node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")) in PARSING_KEYS
    }
    assert reading == KEYS.keys(), "call public_key_of, is_self_signed or public_half"


def test_no_other_reader_looks_for_requests() -> None:
    assert "load_pem_x509_" not in ast.unparse(tree_of("gateway.certificate_reader")), "gateway/pem.py finds the blocks"
    word = "load_pem_x509_csr"
    assert [name for name in with_word(word) if name.startswith("gateway.") and word in ast.dump(tree_of(name))] == []


def test_a_request_with_very_many_names_is_refused_before_they_are_parsed() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, f"o{number}") for number in range(LARGEST // 12)]
    der = x509.CertificateSigningRequestBuilder(x509.Name(names)).sign(key, hashes.SHA256()).public_bytes(Encoding.DER)
    with pytest.raises(TooLong):
        request_of(der)
    whole = b"-----BEGIN CERTIFICATE REQUEST-----\n" + base64.encodebytes(der) + b"-----END CERTIFICATE REQUEST-----\n"
    assert request_problem(whole) == f"x509: it has more than {LARGEST} bytes"
    with pytest.raises(TooLong):
        certificate_of(bytes(LARGEST + 1))
    assert certificates_problem(pem(bytes(LARGEST + 1))) == f"x509: it has more than {LARGEST} bytes"
