"""The client certificate for calls of extension API servers, if no flag names one."""

from __future__ import annotations

from pathlib import Path

from cryptography import x509

from gateway.credentials.front_proxy import CA_FILE, CERTIFICATE_FILE, KEY_FILE, NAME, ensure_front_proxy


def test_it_is_made_once_by_a_ca_whose_key_is_not_kept(tmp_path: Path) -> None:
    ensure_front_proxy(tmp_path)
    kept = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.suffix in (".crt", ".key")}
    assert set(kept) == {CA_FILE, CERTIFICATE_FILE, KEY_FILE}
    authority, certificate = (x509.load_pem_x509_certificate(kept[name]) for name in (CA_FILE, CERTIFICATE_FILE))
    certificate.verify_directly_issued_by(authority)
    assert certificate.subject.rfc4514_string() == f"CN={NAME}"
    assert (tmp_path / KEY_FILE).stat().st_mode & 0o777 == 0o600
    ensure_front_proxy(tmp_path)
    assert (tmp_path / CERTIFICATE_FILE).read_bytes() == kept[CERTIFICATE_FILE]
