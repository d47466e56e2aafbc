"""PodCertificateRequests: valid requests, and valid answers of a signer (KEP-4317)."""

from __future__ import annotations

from base64 import b64encode
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding

from gateway.jsontypes import JsonObject
from gateway.validation.pod_certificate import MAX_CHAIN, MAX_REQUEST, validate_issued, validate_request

NOW = datetime(2030, 1, 1, tzinfo=UTC)
KEY = ec.generate_private_key(ec.SECP256R1())
NOBODY = x509.Name([])
REQUEST = "spec.stubPKCS10Request"


def stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def asked(key: Any = KEY) -> str:
    algorithm = None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    made = x509.CertificateSigningRequestBuilder(NOBODY).sign(key, algorithm)
    return b64encode(made.public_bytes(Encoding.DER)).decode()


def spec(**changed: Any) -> JsonObject:
    named = dict.fromkeys(("podName", "podUID", "serviceAccountName", "serviceAccountUID"), "a")
    own = {"nodeName": "n", "nodeUID": "u", "signerName": "example.com/ca", "maxExpirationSeconds": 86400}
    return {**named, **own, "stubPKCS10Request": asked(), **changed}


def wrong(**changed: Any) -> list[str]:
    return [str(each) for each in validate_request(spec(**changed))]


def test_a_request_names_its_pod_account_and_node() -> None:
    assert wrong() == []
    assert wrong(podUID="") == ['spec.podUID: Invalid value: "": must not be empty']
    assert wrong(nodeUID="u" * 129) == ["spec.nodeUID: Too long: may not be more than 128 bytes"]
    assert "spec.serviceAccountName: Invalid value" in wrong(serviceAccountName="A")[0]
    said = wrong(unverifiedUserAnnotations={"A": "b"})
    assert said == [
        'spec.unverifiedUserAnnotations: Invalid value: "a": must be a domain-prefixed key (such as "acme.io/foo")'
    ]


@pytest.mark.parametrize(
    ("signer", "seconds", "longest"),
    [("example.com/a", 3599, 7862400), ("example.com/a", 7862401, 7862400), ("kubernetes.io/a", 86401, 86400)],
)
def test_a_certificate_is_asked_for_an_hour_at_least_and_a_day_of_kubernetes(
    signer: str, seconds: int, longest: int
) -> None:
    said = wrong(signerName=signer, maxExpirationSeconds=seconds)
    assert said == [f"spec.maxExpirationSeconds: Invalid value: {seconds}: must be in the range [3600, {longest}]"]


@pytest.mark.parametrize(
    ("key", "said"),
    [
        (ed25519.Ed25519PrivateKey.generate(), []),
        (ec.generate_private_key(ec.SECP521R1()), []),
        (rsa.generate_private_key(65537, 3072), []),
        (
            ec.generate_private_key(ec.SECP224R1()),
            ['Invalid value: "curve P-224": elliptic public keys must use curve P256, P384, or P521'],
        ),
        (
            rsa.generate_private_key(65537, 2048),
            ['Invalid value: "2048-bit modulus": RSA keys must have modulus size 3072 or 4096'],
        ),
        (
            dsa.generate_private_key(1024),
            ["Invalid value: unknown public key type; supported types are Ed25519, ECDSA, and RSA"],
        ),
    ],
)
def test_keys_are_of_few_kinds(key: Any, said: list[str]) -> None:
    assert wrong(stubPKCS10Request=asked(key)) == [f"{REQUEST}: {each}" for each in said]


def test_a_request_is_signed_by_its_key_and_bounded() -> None:
    signed = bytearray(
        x509.CertificateSigningRequestBuilder(NOBODY).sign(KEY, hashes.SHA256()).public_bytes(Encoding.DER)
    )
    signed[-1] ^= 1
    assert wrong(stubPKCS10Request=b64encode(signed).decode()) == [f"{REQUEST}: Invalid value: invalid signature"]
    said = f"{REQUEST}: Invalid value: must be a valid PKCS#10 CSR"
    assert wrong(stubPKCS10Request=b64encode(b"no").decode()) == [said]
    long = b64encode(b"\0" * (MAX_REQUEST + 1)).decode()
    assert wrong(stubPKCS10Request=long) == [f"{REQUEST}: Too long: may not be more than {MAX_REQUEST} bytes"]
    either = "exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set"
    assert wrong(stubPKCS10Request="") == [f"spec: Invalid value: {either}"]


def chain(*, key: Any = KEY, begins: datetime = NOW, lasts: int = 7200, names: tuple[str, ...] = ()) -> str:
    made = x509.CertificateBuilder(NOBODY, NOBODY, key.public_key(), 1, begins, begins + timedelta(seconds=lasts))
    if names:
        made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName(each) for each in names]), False)
    return made.sign(KEY, hashes.SHA256()).public_bytes(Encoding.PEM).decode()


def issued(chain: str, *, begins: datetime = NOW, lasts: int = 7200, refresh: int = 3600, **changed: Any) -> list[str]:
    times = {"notBefore": begins, "notAfter": begins + timedelta(seconds=lasts)}
    times["beginRefreshAt"] = begins + timedelta(seconds=refresh)
    status = {"certificateChain": chain, **{key: stamp(each) for key, each in times.items()}, **changed}
    return [str(each).partition(": Invalid value: ")[2] for each in validate_issued(status, spec(), stamp(NOW))]


def test_a_certificate_is_of_the_key_that_was_asked_for() -> None:
    assert issued(chain()) == []
    assert issued(chain() + chain(key=ec.generate_private_key(ec.SECP256R1()))) == []
    other = issued(chain(key=ec.generate_private_key(ec.SECP256R1())))
    assert other[0].endswith("leaf certificate was not issued to the requested public key")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "issued certificate chain must contain at least one certificate"),
        ("-----BEGIN X-----\n-----END X-----\n", "must consist entirely of CERTIFICATE PEM blocks"),
        ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "leaf certificate does not parse"),
        (chain() + "-----BEGIN X-----\n-----END X-----\n", "must consist entirely of CERTFICATE PEM blocks"),
        (
            chain() + "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            "intermediate certificate does not parse as valid X.509",
        ),
        (chain(names=("a..b",)), "leaf certificate's DNSName should not contain '..'"),
        (chain(names=(".a",)), "leaf certificate's DNSName should not start or end with '.'"),
    ],
)
def test_a_chain_is_of_certificates_alone(text: str, said: str) -> None:
    [found] = issued(text)
    assert said in found


def test_a_chain_is_bounded() -> None:
    [found] = validate_issued({"certificateChain": "a" * (MAX_CHAIN + 1)}, spec(), stamp(NOW))
    assert str(found) == f"status.certificateChain: Too long: may not be more than {MAX_CHAIN} bytes"


def test_times_are_those_of_the_certificate_and_near() -> None:
    late = NOW - timedelta(minutes=5)
    strange = "must be set to the {} time encoded in the leaf certificate"
    cases = [
        (issued(chain(), notBefore="0000-01-01T00:00:00Z"), strange.format("NotBefore")),  # a year of no certificate
        (issued(chain(), notAfter="9999-12-31T23:59:59-10:00"), strange.format("NotAfter")),
        (issued(chain(), notBefore=stamp(late)), "must be set to the NotBefore time encoded in the leaf certificate"),
        (issued(chain(begins=late), begins=late), "must be set to within 5 minutes of kube-apiserver's current time"),
        (issued(chain(), lasts=7201), "must be set to the NotAfter time encoded in the leaf certificate"),
        (issued(chain(lasts=3599), lasts=3599), "3599000000000: leaf certificate lifetime must be >= 1 hour"),
        (
            issued(chain(lasts=86401), lasts=86401),
            "86401000000000: leaf certificate lifetime must be <= spec.maxExpirationSeconds (86400)",
        ),
        (issued(chain(), refresh=599), "must be at least 10 minutes after status.notBefore"),
        (issued(chain(), refresh=6601), "must be at least 10 minutes before status.notAfter"),
    ]
    for found, said in cases:
        assert len(found) == 1 and found[0].endswith(said)
    missing = validate_issued({"certificateChain": chain()}, spec(), stamp(NOW))
    assert [each.field for each in missing] == ["status.notBefore", "status.notAfter", "status.beginRefreshAt"]
