"""Checks certificates: their expiry, their names, and the permissions of their keys."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from cryptography import x509

from gateway.credentials.validity import read_certificates, validity
from gateway.doctor.finding import Finding, fail, ok, warn
from gateway.launch.ports import ANY_ADDRESS
from gateway.settings.config import Settings


def examine(settings: Settings) -> list[Finding]:
    """The findings about the files that exist. Whether a key fits its certificate is checked with the flags."""
    found = [of_file(flag, path) for flag, path in _files(settings)]
    given = settings.tls_cert_file
    own = settings.cert_dir / "apiserver.crt"
    if given is not None:
        found += _covering(given, _names(settings))
    elif not own.exists():
        found.append(ok("certificates", f"a start creates a serving certificate in {settings.cert_dir}"))
    return [*found, *(finding for path in _keys(settings) for finding in _of_key(path))]


def _files(settings: Settings) -> list[tuple[str, Path]]:
    own = settings.cert_dir
    named = (
        ("--tls-cert-file", settings.tls_cert_file),
        ("--client-ca-file", settings.client_ca_file),
        ("--requestheader-client-ca-file", settings.requestheader_client_ca_file),
        ("--cluster-signing-cert-file", settings.cluster_signing_cert_file),
        ("--etcd-cafile", settings.etcd_cafile),
        ("--etcd-certfile", settings.etcd_certfile),
        ("--cert-dir", None if settings.tls_cert_file else own / "apiserver.crt"),
        ("--cert-dir", None if settings.tls_cert_file else own / "ca.crt"),
    )
    return [(flag, path) for flag, path in named if path is not None and path.is_file()]


def _keys(settings: Settings) -> list[Path]:
    own = (settings.cert_dir / name for name in ("apiserver.key", "ca.key", "service-account.key", "admin-token"))
    named = (
        settings.tls_private_key_file,
        settings.etcd_keyfile,
        settings.service_account_signing_key_file,
        settings.cluster_signing_key_file,
        settings.identity_key_file,
        *own,
    )
    return [path for path in named if path is not None and path.is_file()]


def of_file(flag: str, path: Path) -> Finding:
    """The finding about the validity of the certificates in a file."""
    check, found = f"{flag} {path}", validity(flag, path)
    if not found.remedy:
        return ok(check, found.said)
    return (warn if found.usable else fail)(check, found.said, found.remedy)


def _names(settings: Settings) -> set[str]:
    """The host names and addresses by which clients may call this server."""
    external = urlsplit(settings.kubeconfig_server).hostname or ""
    return {settings.bind_address, settings.advertise_address, external, *settings.tls_san} - ANY_ADDRESS


def _covering(path: Path, names: Iterable[str]) -> list[Finding]:
    try:
        known = _subjects(read_certificates(path)[0])
    except (OSError, ValueError):
        return []
    check = f"--tls-cert-file {path}"
    missing = [name for name in sorted(names) if not _covered(name, known)]
    if missing:
        said = f"it does not cover {', '.join(missing)}, but {', '.join(sorted(known)) or 'no name'}"
        return [warn(check, said, "use a certificate whose subject alternative names have all names that clients use")]
    return [ok(check, f"it covers {', '.join(sorted(known))}")]


def _subjects(certificate: x509.Certificate) -> set[str]:
    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return set()
    addresses = map(str, extension.get_values_for_type(x509.IPAddress))
    return {*addresses, *(name.lower() for name in extension.get_values_for_type(x509.DNSName))}


def _covered(name: str, known: set[str]) -> bool:
    try:
        return str(ip_address(name)) in known
    except ValueError:
        _, _, domain = name.partition(".")
        return name.lower() in known or f"*.{domain.lower()}" in known


def _of_key(path: Path) -> list[Finding]:
    mode = path.stat().st_mode & 0o777
    if mode & 0o077:
        return [warn(f"key {path}", f"other users can read it (mode {mode:04o})", f"chmod 600 {path}")]
    return []
