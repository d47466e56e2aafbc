"""The own client certificate for calls of extension API servers."""

from __future__ import annotations

from pathlib import Path

from cryptography import x509

from gateway.controllers.access_objects import authentication_data
from gateway.credentials.front_proxy import (
    CA_FILE,
    CERTIFICATE_FILE,
    KEY_FILE,
    NAME,
    ensure_front_proxy,
    front_proxy_identity,
)
from gateway.settings.config import Settings


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


def test_given_cas_of_front_proxies_are_the_only_ones_that_are_told(tmp_path: Path) -> None:
    ensure_front_proxy(tmp_path)
    given = tmp_path / "given.crt"
    given.write_text("the given CA")
    told = authentication_data(Settings(cert_dir=tmp_path, requestheader_client_ca_file=given))
    assert (told["requestheader-client-ca-file"], told["requestheader-allowed-names"]) == ("the given CA", "[]")
    assert not front_proxy_identity(Settings(cert_dir=tmp_path, requestheader_client_ca_file=given)).paths
    own = authentication_data(Settings(cert_dir=tmp_path))
    assert own["requestheader-client-ca-file"] == (tmp_path / CA_FILE).read_text()
    assert front_proxy_identity(Settings(cert_dir=tmp_path)).paths
