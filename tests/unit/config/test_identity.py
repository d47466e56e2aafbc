"""CA, keys and the administrator's token are made once; who has the secret can take them over."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from gateway.credentials.certificates import Authority, ensure_certificates, issue
from gateway.credentials.identity import IdentityError, keep, kept_token, own, seal, unseal


def names_of(certificate: Path) -> set[str]:
    loaded = x509.load_pem_x509_certificate(certificate.read_bytes())
    extension = loaded.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    addresses = {str(address) for address in extension.get_values_for_type(x509.IPAddress)}
    return addresses | set(extension.get_values_for_type(x509.DNSName))


def test_new_names_get_a_certificate_of_the_same_ca(tmp_path: Path) -> None:
    first = ensure_certificates(tmp_path, ["10.0.0.1"])
    ca, before = first.ca.read_bytes(), first.certificate.read_bytes()
    assert ensure_certificates(tmp_path, ["10.0.0.1"]).certificate.read_bytes() == before
    again = ensure_certificates(tmp_path, ["10.0.0.1", "api.example.org", "*.example.net", "2001:db8::1"])
    assert again.ca.read_bytes() == ca and again.certificate.read_bytes() != before
    assert names_of(again.certificate) >= {"10.0.0.1", "api.example.org", "*.example.net", "2001:db8::1", "localhost"}
    issued = x509.load_pem_x509_certificate(again.certificate.read_bytes())
    issued.verify_directly_issued_by(x509.load_pem_x509_certificate(ca))


def test_keys_are_their_owners_alone(tmp_path: Path) -> None:
    ensure_certificates(tmp_path, [])
    kept_token(tmp_path)
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert {modes[name] for name in ("ca.key", "apiserver.key", "admin-token")} == {0o600}


def test_a_token_is_made_once(tmp_path: Path) -> None:
    assert kept_token(tmp_path / "new") == kept_token(tmp_path / "new") != kept_token(tmp_path / "other")


def test_a_given_ca_signs(tmp_path: Path) -> None:
    ensure_certificates(tmp_path / "one", [])
    keep(tmp_path / "two", own(tmp_path / "one"))
    made = ensure_certificates(tmp_path / "two", [])
    assert made.ca.read_bytes() == (tmp_path / "one" / "ca.crt").read_bytes()


def test_a_taken_over_ca_replaces_the_certificate_of_another(tmp_path: Path) -> None:
    mine = ensure_certificates(tmp_path / "mine", [])
    shared = own(tmp_path / "shared")
    keep(tmp_path / "mine", shared)
    made = ensure_certificates(tmp_path / "mine", [])
    assert mine.ca.read_text() == shared.ca_certificate and made.certificate.read_text().endswith(shared.ca_certificate)
    assert kept_token(tmp_path / "mine") == shared.admin_token


def test_an_identity_is_sealed(tmp_path: Path) -> None:
    identity = own(tmp_path)
    sealed = seal(identity, b"a secret")
    assert identity.admin_token.encode() not in sealed and sealed != seal(identity, b"a secret")
    assert unseal(sealed, b"a secret") == identity
    for value, secret in ((sealed, b"another"), (b"{}", b"a secret"), (b"x", b"a secret"), (b"[]", b"a secret")):
        with pytest.raises(IdentityError):
            unseal(value, secret)


def test_a_certificate_names_its_ca_as_the_ca_does_itself(tmp_path: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "an authority")])
    own = x509.SubjectKeyIdentifier(b"not the usual digest")
    now = datetime.now(UTC)
    ca = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now, now + timedelta(1))
        .add_extension(own, critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    certificate, _ = issue(Authority(ca.public_bytes(pem), private), ["127.0.0.1"])
    made = x509.load_pem_x509_certificate(certificate)
    assert made.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value.key_identifier == own.digest
