"""CA, keys and the administrator's token are made once; a server with the shared secret takes them over."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from gateway.credentials.certificates import Authority, ensure_certificates, issue, wrong_dates
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


def test_a_directory_that_is_read_only_is_used_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = ensure_certificates(tmp_path, ["10.0.0.1"])
    token = kept_token(tmp_path)
    (tmp_path / "addresses").unlink()  # nobody would put it into a Secret
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    monkeypatch.setattr("os.access", lambda path, mode: False)

    def refused(*_: object) -> None:
        raise OSError("Read-only file system")

    for writer in ("tempfile.mkstemp", "os.link", "pathlib.Path.mkdir"):
        monkeypatch.setattr(writer, refused)
    assert ensure_certificates(tmp_path, ["10.0.0.1"]) == made
    assert kept_token(tmp_path) == token
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    ("since", "words"),
    [(-timedelta(hours=1), ""), (timedelta(days=1), "not valid before"), (-timedelta(days=3), "over")],
)
def test_a_ca_that_was_made_under_a_wrong_clock_is_named(tmp_path: Path, since: timedelta, words: str) -> None:
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    start = datetime.now(UTC) + since
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, start, start + timedelta(days=2))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path / "ca.crt"
    file.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    said = wrong_dates(file)
    assert words in said and bool(said) is bool(words)
    assert not said or "set the clock right" in said
