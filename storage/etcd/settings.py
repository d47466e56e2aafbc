"""How to reach etcd."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class EtcdSettings:
    """Endpoints are HOST:PORT, which is https if any TLS file is given, http://HOST:PORT, https://HOST:PORT or
    unix:///PATH.

    `timeout` is the deadline, in seconds, of a call that names none. The files are PEM.
    """

    endpoints: tuple[str, ...]
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None
    username: str = ""
    password: str = ""
    timeout: float = 5.0

    def target(self, address: str) -> tuple[bool, str]:
        """Whether an endpoint that is no socket's path is spoken to by TLS, and its HOST:PORT."""
        scheme, separator, target = address.rpartition("://")
        secure = scheme == "https" if separator else any((self.ca_file, self.cert_file, self.key_file))
        return secure, target.rstrip("/")


def socket_path(address: str) -> str:
    """The path of an endpoint that is a Unix domain socket's, "" for others."""
    return address.removeprefix("unix:").removeprefix("//") if address.startswith("unix:") else ""
