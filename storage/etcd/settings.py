"""How to reach etcd."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class EtcdSettings:
    """Endpoints are URLs (http, https or unix) or HOST:PORT, which is https if any TLS file is given.

    `timeout` is the default deadline of a call, in seconds. The files are PEM.
    """

    endpoints: tuple[str, ...]
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None
    username: str = ""
    password: str = ""
    timeout: float = 5.0
