"""The client certificate for calls to other servers, and the trusted CAs for these servers, from files."""

from __future__ import annotations

from pathlib import Path

from gateway.outbound.trust import TlsContext, context_of


class ClientIdentity:
    """The files of --kubelet-client-certificate and similar flags. They are read at first use, and by `reload`."""

    def __init__(self, certificate: Path | None, key: Path | None, authority: Path | None = None) -> None:
        self._certificate, self._key, self._authority = certificate, key, authority
        self._pair: tuple[bytes, bytes] | None = None
        self._trusted: str | None = None
        self.changes = 0  # how often the certificate was set or the files were read

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files."""
        return tuple(each for each in (self._certificate, self._key, self._authority) if each is not None)

    def use(self, certificate: bytes, key: bytes) -> None:
        """Sets the certificate and its key (PEM), unless files are configured."""
        if self._certificate is None:
            self._pair = certificate, key
            self.changes += 1

    def reload(self) -> None:
        """Reads the files. Raises OSError, UnicodeDecodeError."""
        if self._certificate is not None and self._key is not None:
            self._pair = self._certificate.read_bytes(), self._key.read_bytes()
        self._trusted = self._authority.read_text() if self._authority is not None else ""
        self.changes += 1

    def context(self, authorities: str = "", *, insecure: bool = False) -> TlsContext:
        """A TLS context that presents the certificate and trusts the CAs `authorities` (PEM); for "", the host's CAs.

        Raises OSError, ValueError.
        """
        if self._trusted is None:
            self.reload()
        certificate, key = self._pair or (b"", b"")
        return context_of("" if insecure else authorities, certificate, key, insecure)

    def of_kubelets(self, *, insecure: bool = False) -> TlsContext:
        """A TLS context that trusts the CAs of the file; without a file, all servers, as in kube-apiserver."""
        if self._trusted is None:
            self.reload()
        return self.context(self._trusted or "", insecure=insecure or not self._trusted)
