"""Of whom something is asked."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from gateway.outbound.trust import Context


@dataclass(frozen=True, slots=True)
class Target:
    """One server. `context` is None for plain HTTP; `server_name` is whom its certificate is for, if not the host;
    `authority` is what the Host header says, if not host and port.
    """

    host: str
    port: int
    context: Context | None = None
    server_name: str = ""
    authority: str = ""

    @property
    def scheme(self) -> str:
        return "http" if self.context is None else "https"

    @property
    def name(self) -> str:
        """Whom the certificate has to be for."""
        return self.server_name or self.host

    @property
    def host_header(self) -> str:
        """The value of the Host header."""
        if self.authority:
            return self.authority
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (80 if self.context is None else 443) else f"{host}:{self.port}"


def target_of_url(url: str, context: Context | None) -> tuple[Target, str]:
    """Whom a URL names, and the path with the query; `context` is used where it is https. Raises ValueError."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"no URL of a server: {url!r}")
    secure = parts.scheme == "https"
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    port = parts.port or (443 if secure else 80)
    return Target(parts.hostname, port, context if secure else None), path
