"""Checks whether the certificates in a file are valid now, and gives a remedy if they are not, or soon will not be."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from cryptography import x509

SOON = timedelta(days=30)


class Validity(NamedTuple):
    """Whether a certificate is valid now, a message about it, and a remedy, "" for none."""

    usable: bool
    said: str
    remedy: str = ""


def validity(flag: str, path: Path) -> Validity:
    """The validity of all certificates in a flag's file together."""
    try:
        certificates = read_certificates(path)
    except (OSError, ValueError) as error:
        return Validity(False, f"it cannot be read: {error}", "give certificates in PEM")
    now = datetime.now(UTC)
    begins = max(certificate.not_valid_before_utc for certificate in certificates)
    ends = min(certificate.not_valid_after_utc for certificate in certificates)
    if begins > now:
        return Validity(False, f"it is not valid before {begins:%Y-%m-%d %H:%M}", "set this machine's clock")
    if ends <= now:
        return Validity(False, f"it expired on {ends:%Y-%m-%d}", _renewal(flag))
    return Validity(True, f"it is valid until {ends:%Y-%m-%d}", _renewal(flag) if ends - now < SOON else "")


def _renewal(flag: str) -> str:
    if flag == "--cert-dir":
        return (
            "remove it, and the next start creates a new one; if it is a CA, certificates that it signed become invalid"
        )
    return "replace the file; a running server reads the new one"


def read_certificates(path: Path) -> list[x509.Certificate]:
    """The certificates in a file. Raises OSError, ValueError."""
    from cryptography import x509

    return x509.load_pem_x509_certificates(path.read_bytes())
