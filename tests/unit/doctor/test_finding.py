"""The doctor's findings about certificates, keys, disks and versions."""

from __future__ import annotations

import resource
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from gateway.access.signing_authority import new_request, now, read_authority
from gateway.credentials import validity
from gateway.credentials.certificates import ensure_certificates, issue, new_authority
from gateway.doctor import certificates, host
from gateway.doctor import etcd as etcd_looks
from gateway.doctor.finding import Finding, Severity
from gateway.settings.config import Settings
from storage.etcd import ClusterState, MemberStatus

Signed = Callable[[timedelta], Path]


def levels(found: list[Finding], words: str) -> list[Severity]:
    return [each.level for each in found if words in f"{each.check}: {each.said}"]


@pytest.fixture
def signed(tmp_path: Path) -> Signed:
    """A client certificate of some lifetime, as a file."""
    made = new_authority()
    (ca := tmp_path / "signer.crt").write_bytes(made.certificate)
    (key := tmp_path / "signer.key").write_bytes(made.key)

    def sign(lifetime: timedelta) -> Path:
        request, _ = new_request("a", [])
        (path := tmp_path / "signed.crt").write_bytes(
            read_authority(ca, key).sign(request, ("client auth",), lifetime, now())
        )
        return path

    return sign


@pytest.mark.parametrize(("days", "level"), [(400, Severity.OK), (20, Severity.WARN)])
def test_certificates_that_end_soon(signed: Signed, days: int, level: Severity) -> None:
    found = certificates.examine(Settings(client_ca_file=signed(timedelta(days=days))))
    assert levels(found, "--client-ca-file") == [level]


def test_certificates_that_have_ended(signed: Signed, monkeypatch: pytest.MonkeyPatch) -> None:
    path = signed(timedelta(days=40))

    class Later(validity.datetime):
        @classmethod
        def now(cls, tz: object = None) -> Later:  # type: ignore[override]
            return super().now(validity.UTC) + timedelta(days=100)  # type: ignore[return-value]

    monkeypatch.setattr(validity, "datetime", Later)
    assert levels(certificates.examine(Settings(client_ca_file=path)), "it expired on") == [Severity.FAIL]


def test_names_that_a_given_certificate_lacks(tmp_path: Path) -> None:
    certificate, key = issue(new_authority(), ["a.example.org", "10.0.0.1"])
    (path := tmp_path / "tls.crt").write_bytes(certificate)
    (key_path := tmp_path / "tls.key").write_bytes(key)
    key_path.chmod(0o600)
    given = Settings(tls_cert_file=path, tls_private_key_file=key_path, advertise_address="10.0.0.1")
    assert set(levels(certificates.examine(given), "--tls-cert-file")) == {Severity.OK}
    lacking = Settings(tls_cert_file=path, tls_private_key_file=key_path, kubeconfig_server="https://b.example.org")
    (finding,) = (each for each in certificates.examine(lacking) if each.level is Severity.WARN)
    assert finding.said.startswith("it does not cover b.example.org, but ") and finding.remedy


def test_keys_that_others_may_read(tmp_path: Path) -> None:
    ensure_certificates(tmp_path, ())
    assert not levels(certificates.examine(Settings(cert_dir=tmp_path)), "other users can read")
    (tmp_path / "ca.key").chmod(0o644)
    assert levels(certificates.examine(Settings(cert_dir=tmp_path)), "other users can read") == [Severity.WARN]


def test_files_that_are_no_certificates(tmp_path: Path) -> None:
    (path := tmp_path / "ca.crt").write_text("x")
    assert levels(certificates.examine(Settings(client_ca_file=path)), "cannot be read") == [Severity.FAIL]


@pytest.mark.parametrize(("hard", "level"), [(20000, "OK"), (4096, "WARN"), (512, "FAIL"), (-1, "OK")])
def test_file_descriptors(monkeypatch: pytest.MonkeyPatch, hard: int, level: str) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda what: (256, hard))
    assert host.descriptors().level == level


@pytest.mark.parametrize(("free", "level"), [(2 << 30, "OK"), (1 << 29, "WARN"), (1 << 20, "FAIL")])
def test_room_on_disks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, free: int, level: str) -> None:
    monkeypatch.setattr(host.shutil, "disk_usage", lambda path: type("", (), {"free": free}))
    (finding,) = host.disks(Settings(cert_dir=tmp_path / "not" / "yet"))
    assert finding.level == level


def member(version: str = "3.6.16", **changed: object) -> etcd_looks.EndpointAnswers:
    said: dict[str, object] = {
        "revision": 10,
        "member_id": 1,
        "leader": 1,
        "db_size": 1 << 20,
        "db_size_in_use": 1 << 19,
        "raft_term": 2,
        "raft_index": 20,
        "is_learner": False,
        "errors": (),
        **changed,
    }
    return etcd_looks.EndpointAnswers("http://a:2379", MemberStatus(version, **said), ClusterState(1, 2, 10))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("seen", "level", "said"),
    [
        (member(), Severity.OK, "version 3.6.16"),
        (member("3.5.1"), Severity.WARN, "may lose acknowledged writes"),
        (member("3.5.9"), Severity.WARN, "may report progress"),
        (member("3.3.9"), Severity.FAIL, "not supported"),
        (member(leader=0), Severity.FAIL, "no leader"),
        (member(is_learner=True), Severity.WARN, "learner"),
        (member(errors=("memberID:1 alarm:NOSPACE ",)), Severity.FAIL, "database is full"),
        (member(errors=("memberID:1 alarm:CORRUPT ",)), Severity.FAIL, "CORRUPT"),
        (member(db_size=90, db_size_in_use=90, db_quota=100), Severity.WARN, "in use"),
        (member(db_size=99, db_size_in_use=99, db_quota=100), Severity.FAIL, "in use"),
        (member(db_size=1 << 30, db_size_in_use=1 << 20), Severity.WARN, "in use"),
    ],
)
def test_what_a_member_says(seen: etcd_looks.EndpointAnswers, level: Severity, said: str) -> None:
    assert levels(etcd_looks._of_member(seen), said) == [level]


def test_members_that_differ() -> None:
    one = member()
    assert [each.level for each in etcd_looks._together([one, one])] == [Severity.OK]
    assert levels(etcd_looks._together([one, member("3.5.20")]), "different versions") == [Severity.WARN]
    assert levels(etcd_looks._together([one, member(leader=2)]), "different leaders") == [Severity.WARN]
    assert levels(etcd_looks._together([one, member(revision=5000)]), "revisions differ") == [Severity.WARN]
    other = etcd_looks.EndpointAnswers("http://b:2379", one.status, ClusterState(2, 2, 10))
    assert levels(etcd_looks._together([one, other]), "different clusters") == [Severity.FAIL]
