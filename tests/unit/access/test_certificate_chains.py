"""Which client certificates a CA bundle verifies: as Go's x509.Verify with the key usage ClientAuth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from gateway.access.certificate_chains import MOST_ON_PATH, CertificatePool

HOUR = timedelta(hours=1)
CLIENT, SERVER = ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH


@dataclass(frozen=True)
class Made:
    certificate: x509.Certificate
    key: Any

    @property
    def der(self) -> bytes:
        return self.certificate.public_bytes(Encoding.DER)


def made(
    name: str,
    issuer: Made | None = None,
    *extensions: tuple[x509.ExtensionType, bool],
    ca: bool = False,
    length: int | None = None,
    key: Any = None,
    since: timedelta = -HOUR,
    until: timedelta = HOUR,
    digest: Any = None,
) -> Made:
    key = key or ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    by, now = issuer.key if issuer else key, datetime.now(UTC)
    builder = x509.CertificateBuilder(
        issuer.certificate.subject if issuer else subject,
        subject,
        key.public_key(),
        x509.random_serial_number(),
        now + since,
        now + until,
    )
    if ca:
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=length), critical=True)
    for extension, critical in extensions:
        builder = builder.add_extension(extension, critical)
    algorithm = None if isinstance(by, ed25519.Ed25519PrivateKey) else digest or hashes.SHA256()
    return Made(builder.sign(by, algorithm), key)


def usage(*usages: x509.ObjectIdentifier) -> tuple[x509.ExtensionType, bool]:
    return x509.ExtendedKeyUsage(usages), False


def key_usage(sign: bool) -> tuple[x509.ExtensionType, bool]:
    others = dict.fromkeys(
        ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "crl_sign"), False
    )
    more = {"encipher_only": False, "decipher_only": False}
    return x509.KeyUsage(digital_signature=True, key_cert_sign=sign, **others, **more), True


def vouches(roots: Sequence[Made], *chain: Made) -> bool:
    pool = CertificatePool([each.certificate for each in roots])
    return pool.good_until([each.der for each in chain]) > 0


ROOT = made("root", ca=True)
BETWEEN = made("between", ROOT, ca=True)


@pytest.mark.parametrize("kind", ["ec", "ed25519", "rsa"])
def test_kinds_of_keys(kind: str) -> None:
    def key() -> Any:
        return {
            "ec": lambda: ec.generate_private_key(ec.SECP384R1()),
            "ed25519": ed25519.Ed25519PrivateKey.generate,
            "rsa": lambda: rsa.generate_private_key(65537, 2048),
        }[kind]()

    root = made("root", ca=True, key=key())
    assert vouches([root], made("ada", root, key=key()))
    assert not vouches([made("root", ca=True, key=key())], made("ada", root, key=key()))


def test_cas_between_may_come_in_any_order_and_with_others() -> None:
    lower = made("lower", BETWEEN, ca=True)
    ada = made("ada", lower)
    assert vouches([ROOT], ada, BETWEEN, made("other", ca=True), lower)
    assert not vouches([ROOT], ada, BETWEEN) and not vouches([ROOT], ada)
    assert vouches([BETWEEN], ada, lower)  # any certificate of the file is trusted, as in Go
    assert not vouches([made("root", ca=True)], ada, lower, BETWEEN, ROOT)


def test_a_resumed_session_shows_the_clients_certificate_alone() -> None:
    pool = CertificatePool([ROOT.certificate])
    ada, bob = made("ada", BETWEEN), made("bob", BETWEEN)
    assert pool.good_until([bob.der]) == 0
    assert pool.good_until([ada.der, BETWEEN.der]) and pool.good_until([ada.der]) and pool.good_until([bob.der])


@pytest.mark.parametrize(
    ("chain", "good"),
    [
        ([made("ada", ROOT, since=timedelta(days=1), until=timedelta(days=2))], False),
        ([made("ada", ROOT, until=-timedelta(minutes=5))], False),
        ([made("ada", ROOT, usage(CLIENT))], True),
        ([made("ada", ROOT, usage(SERVER, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE))], True),
        ([made("ada", ROOT, usage(SERVER))], False),
        ([made("ada", ROOT, ca=True)], True),
        ([made("ada", ROOT, (x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3"), b"\5\0"), True))], False),
        ([made("ada", ROOT, (x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3"), b"\5\0"), False))], True),
        ([made("ada", ROOT, (x509.UnrecognizedExtension(x509.ObjectIdentifier("2.5.29.37"), b"\5\0"), False))], False),
        ([made("ada", ROOT, key=rsa.generate_private_key(65537, 1024))], True),
        ([made("root")], False),  # by name alone
        ([ROOT], True),
    ],
)
def test_what_a_clients_certificate_says(chain: list[Made], good: bool) -> None:
    assert vouches([ROOT], *chain) is good


@pytest.mark.parametrize(
    ("between", "good"),
    [
        (made("between", ROOT), False),
        (made("between", ROOT, key_usage(False), ca=True), False),
        (made("between", ROOT, key_usage(True), ca=True), True),
        (made("between", ROOT, usage(SERVER), ca=True), False),
        (made("between", ROOT, ca=True, until=-timedelta(minutes=5)), False),
        (made("between", ROOT, (x509.PolicyConstraints(0, None), False), ca=True), False),
        (made("between", ROOT, (x509.NameConstraints([x509.DNSName("good.org")], None), True), ca=True), True),
        (made("between", ROOT, (x509.NameConstraints(None, [x509.DNSName("example.org")]), True), ca=True), False),
    ],
)
def test_what_a_ca_between_may_do(between: Made, good: bool) -> None:
    name = "a.good.org" if good else "a.example.org"
    ada = made("ada", between, (x509.SubjectAlternativeName([x509.DNSName(name)]), False))
    assert vouches([ROOT], ada, between) is good


def test_how_many_cas_may_be_below() -> None:
    for length, good in ((0, False), (1, True)):
        root = made("root", ca=True, length=length)
        between = made("between", root, ca=True)
        assert vouches([root], made("ada", between), between) is good
    chain = [ROOT]
    for index in range(MOST_ON_PATH):
        chain.append(made(f"ca-{index}", chain[-1], ca=True))
    assert vouches([ROOT], made("ada", chain[-2]), *chain[1:-1])
    assert not vouches([ROOT], made("ada", chain[-1]), *chain[1:])


def test_weak_digests_and_roots_that_are_over_vouch_for_nobody() -> None:
    assert not vouches([ROOT], made("ada", ROOT, digest=hashes.SHA224()))
    over = made("root", ca=True, until=-timedelta(minutes=1))
    assert not vouches([over], made("ada", over))


def test_a_stranger_who_sends_many_cas_of_one_name_has_few_signatures_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    import gateway.access.certificate_chains as chains

    verified: list[str] = []
    has_issued = chains._has_issued

    def counted(issuer: x509.Certificate, certificate: x509.Certificate) -> bool:
        verified.append(issuer.subject.rfc4514_string())
        return has_issued(issuer, certificate)

    monkeypatch.setattr(chains, "_has_issued", counted)
    many = [made("root", ca=True) for _ in range(60)]
    assert not vouches([ROOT], made("ada", many[0]), *many)
    assert len(verified) <= chains.MOST_SENT + 1  # by the root's key alone


def test_what_is_no_certificate_is_nobodys() -> None:
    pool = CertificatePool([ROOT.certificate])
    for der in (b"", b"\x30\x03\x02\x01\x01", made("ada", ROOT).der[:-1], made("ada", ROOT).der + b"\0"):
        assert pool.good_until([der]) == 0
    assert pool.good_until([made("ada", ROOT).der, b"no certificate"])


def der(tag: int, content: bytes) -> bytes:
    size = len(content)
    return bytes([tag, size] if size < 128 else [tag, 0x82, size >> 8, size & 255]) + content


UTF8, BMP = 0x0C, 0x1E


@pytest.mark.parametrize(
    ("tag", "name", "accepted"),
    [
        (UTF8, b"adam", True),
        (BMP, b"\0a\0b", True),
        (UTF8, b"\xed\xa0\x80a", False),
        (UTF8, b"\xffabc", False),
        (BMP, b"\xd8\0\0a", False),
    ],
)
def test_a_name_that_is_no_text_is_nobodys(tag: int, name: bytes, accepted: bool) -> None:
    """Such as half a surrogate pair. Go refuses it as a UTF8String, too; as a BMPString it reads U+FFFD."""
    root = made("root", ca=True)
    part = made("adam", root, usage(CLIENT)).certificate.tbs_certificate_bytes
    part = part.replace(bytes([UTF8, 4]) + b"adam", bytes([tag, 4]) + name)
    signature = root.key.sign(part, ec.ECDSA(hashes.SHA256()))
    algorithm = bytes.fromhex("300a06082a8648ce3d040302")  # ecdsa-with-SHA256
    leaf = der(0x30, part + algorithm + der(3, b"\0" + signature))
    assert bool(CertificatePool([root.certificate]).good_until([leaf])) is accepted
