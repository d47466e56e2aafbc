"""The server of a call: its address, name and TLS settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from gateway.outbound.trust import TlsContext


@dataclass(frozen=True, slots=True)
class Target:
    """One server. `context` is None for plain HTTP. `server_name` is the name in its certificate, if not the host;
    `authority` is the value of the Host header, if not host and port.
    """

    host: str
    port: int
    context: TlsContext | None = None
    server_name: str = ""
    authority: str = ""
    # computed once, because each call needs them
    _hash: int = field(init=False, repr=False, compare=False, default=0)
    host_header: str = field(init=False, repr=False, compare=False, default="")  # the value of the Host header

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.host, self.port, self.server_name)))
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = self.port == (80 if self.context is None else 443)
        object.__setattr__(self, "host_header", self.authority or (host if usual else f"{host}:{self.port}"))

    def __hash__(self) -> int:
        return self._hash

    @property
    def scheme(self) -> str:
        return "http" if self.context is None else "https"

    @property
    def name(self) -> str:
        """The name that the server's certificate has to cover."""
        return self.server_name or self.host


def target_of_url(url: str, context: TlsContext | None) -> tuple[Target, str]:
    """The server of a URL, and the path with the query; `context` is used only for https. Raises ValueError."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"no URL of a server: {url!r}")
    secure = parts.scheme == "https"
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    port = parts.port or (443 if secure else 80)
    return Target(parts.hostname, port, context if secure else None), path
