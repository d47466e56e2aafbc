"""--tls-sni-cert-key: certificates for clients that ask for certain host names (SNI)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

SEPARATOR = ";"  # between several values in an environment variable or --config, where a flag cannot be repeated


@dataclass(frozen=True, slots=True)
class NamedPair:
    """A certificate, its key, and the host names for which it is used; without names, those in the certificate."""

    certificate: Path
    key: Path
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        names = f":{','.join(self.names)}" if self.names else ""
        return f"{self.certificate},{self.key}{names}"


def named_pairs(text: str) -> tuple[NamedPair, ...]:
    """Parses CERTIFICATE,KEY or CERTIFICATE,KEY:NAME,NAME; several are separated by semicolons. Raises ValueError."""
    return tuple(_pair(each) for each in text.split(SEPARATOR) if each.strip())


def _pair(text: str) -> NamedPair:
    files, colon, said = text.partition(":")
    paths = [each.strip() for each in files.split(",")]
    names = [each.strip().lower() for each in said.split(",")] if colon else []
    if len(paths) != 2 or not all(paths + names):
        raise ValueError("give CERTIFICATE,KEY or CERTIFICATE,KEY:NAME,NAME")
    return NamedPair(Path(paths[0]), Path(paths[1]), tuple(names))
