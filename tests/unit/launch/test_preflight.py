"""Unusable files are found before the start, and reported in one line that names the flag."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from gateway.credentials.certificates import ensure_certificates
from gateway.credentials.kubeconfig import write_kubeconfig
from gateway.files import check_writable, create_file, replace_file
from gateway.launch.preflight import check_files, resolved
from gateway.settings.config import InvalidSettings, Settings

_WEBHOOK = b"""authorizers:
- type: Webhook
  name: a
  webhook:
    timeout: 3s
    subjectAccessReviewVersion: v1
    matchConditionSubjectAccessReviewVersion: v1
    failurePolicy: Deny
    connectionInfo: {type: KubeConfigFile, kubeConfigFile: /dev/null/x}
    matchConditions: [{expression: x}]
"""
_EMAIL = b"""jwt:
- issuer: {url: "https://a", audiences: [b]}
  claimMappings: {username: {expression: claims.email}}
"""


def _kind(name: str) -> bytes:
    return f"apiVersion: apiserver.config.k8s.io/v1\nkind: {name}Configuration\n".encode()


@pytest.mark.parametrize(
    ("setting", "content", "message"),
    [
        ("token_auth_file", b"\xff,a,b\n", "not UTF-8"),
        ("token_auth_file", b"\xef\xbb\xbft,a,b\n", "byte order mark"),
        ("token_auth_file", b't,a,b\n\nu,"a,b\nv,c,d\n', ":3: a quote is not closed"),
        ("token_auth_file", b"t,a\n", "expected 3 columns"),
        ("etcd_cafile", b"x", "no certificate in PEM"),
        ("service_account_signing_key_file", b"x", "not a private key in PEM"),
        ("identity_key_file", b"  short  ", "at least 16 bytes"),
    ],
)
def test_a_bad_file_is_said_in_a_line(tmp_path: Path, setting: str, content: bytes, message: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(InvalidSettings, match=message) as refused:
        check_files(Settings(**{setting: path}))  # type: ignore[arg-type]
    assert f"--{setting.replace('_', '-')}: " in str(refused.value)
    assert "\n" not in str(refused.value) and str(path) in str(refused.value)


@pytest.mark.parametrize("pair", [("tls_cert_file", "tls_private_key_file"), ("etcd_certfile", "etcd_keyfile")])
def test_a_key_of_another_certificate_is_refused(tmp_path: Path, pair: tuple[str, str]) -> None:
    one, other = (ensure_certificates(tmp_path / name, []) for name in ("one", "other"))
    check_files(Settings(**{pair[0]: one.certificate, pair[1]: one.key}))  # type: ignore[arg-type]
    with pytest.raises(InvalidSettings, match="not a certificate and its key"):
        check_files(Settings(**{pair[0]: one.certificate, pair[1]: other.key}))  # type: ignore[arg-type]


def test_a_kubeconfig_that_cannot_be_written_is_found_out(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "file" / "kubeconfig", Path("/proc/none/kubeconfig")):
        with pytest.raises(InvalidSettings, match="--kubeconfig-out: cannot use"):
            check_files(Settings(kubeconfig_out=path))
    check_files(Settings(kubeconfig_out=tmp_path / "new" / "kubeconfig"))
    assert list((tmp_path / "new").iterdir()) == []


def test_a_kubeconfig_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text("old")
    path.chmod(0o644)
    with path.open(encoding="utf-8") as reader:
        write_kubeconfig(path, "https://a", b"ca", "secret")
        assert reader.read() == "old", "a reader of the old file must not see the token"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "secret" in path.read_text()
    assert [each.name for each in tmp_path.iterdir()] == ["kubeconfig"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    check_writable(tmp_path / "link")
    replace_file(tmp_path / "link", b"x")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "target").read_bytes() == b"x"


def test_what_is_no_file_is_written_to(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    replace_file(Path(f"/proc/self/fd/{writing}"), b"x")
    assert os.read(reading, 10) == b"x"
    os.close(reading)
    os.close(writing)


def test_the_first_of_two_files_stays(tmp_path: Path) -> None:
    assert create_file(tmp_path / "key", b"1") and not create_file(tmp_path / "key", b"2")
    assert (tmp_path / "key").read_bytes() == b"1"
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600


def test_host_names_become_addresses() -> None:
    assert resolved("localhost") == "127.0.0.1"
    assert resolved("2001:db8::1") == "2001:db8::1"
    with pytest.raises(InvalidSettings, match="--advertise-address=no"):
        resolved("no.such.host.invalid")


@pytest.mark.parametrize(
    ("setting", "content", "message"),
    [
        ("authorization_config", b"a: b", "it must be of kind AuthorizationConfiguration"),
        ("authorization_config", _kind("Authorization") + b"authorizers: []", "at least one authorization mode"),
        ("authorization_config", _kind("Authorization") + b"x: 1", 'unknown field "x"'),
        (
            "authorization_config",
            _kind("Authorization") + b"authorizers: [{type: RBAC, name: a}, {type: RBAC, name: b}]",
            r'authorizers\[1\].type: Duplicate value: "RBAC"',
        ),
        (
            "authorization_config",
            _kind("Authorization") + _WEBHOOK,
            r'matchConditions\[0\].expression: Invalid value: "x"',
        ),
        (
            "authentication_config",
            _kind("Authentication") + b"jwt: [{issuer: {url: 'http://a'}}]",
            "scheme must be https",
        ),
        ("authentication_config", _kind("Authentication") + _EMAIL, "claims.email_verified must be used"),
        ("authentication_config", b"{", "it is not valid YAML"),
        ("authorization_webhook_config_file", b"kind: Config", "it has no current-context"),
        ("authentication_token_webhook_config_file", b"[]", "it is not a kubeconfig"),
        ("oidc_ca_file", b"x", "no certificate in PEM"),
        ("audit_policy_file", b"a: b", "it must be of kind Policy and apiVersion audit.k8s.io/v1"),
        (
            "audit_policy_file",
            b"{kind: Policy, apiVersion: audit.k8s.io/v1, rules: [{level: All}]}",
            r"rules\[0\].level: 'All' is not supported",
        ),
        ("audit_webhook_config_file", b"[]", "it is not a kubeconfig"),
    ],
)
def test_what_a_configuration_has_wrong_is_said_in_a_line(
    tmp_path: Path, setting: str, content: bytes, message: str
) -> None:
    test_a_bad_file_is_said_in_a_line(tmp_path, setting, content, message)
