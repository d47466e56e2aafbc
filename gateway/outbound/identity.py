"""The client certificate for calls of other servers, and the CAs that it trusts there, from files."""

from __future__ import annotations

from pathlib import Path

from gateway.outbound.trust import Context, context_of


class ClientIdentity:
    """What --kubelet-client-certificate and the like say. Files are read when first needed, and by `reload`."""

    def __init__(self, certificate: Path | None, key: Path | None, authority: Path | None = None) -> None:
        self._certificate, self._key, self._authority = certificate, key, authority
        self._pair: tuple[bytes, bytes] | None = None
        self._trusted: str | None = None
        self.changes = 0  # how often it was given what it shows

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files."""
        return tuple(each for each in (self._certificate, self._key, self._authority) if each is not None)

    def use(self, certificate: bytes, key: bytes) -> None:
        """Takes a certificate and its key, PEM, where no file names any."""
        if self._certificate is None:
            self._pair = certificate, key
            self.changes += 1

    def reload(self) -> None:
        """Reads the files. Raises OSError, UnicodeDecodeError."""
        if self._certificate is not None and self._key is not None:
            self._pair = self._certificate.read_bytes(), self._key.read_bytes()
        self._trusted = self._authority.read_text() if self._authority is not None else ""
        self.changes += 1

    def context(self, authorities: str = "", *, insecure: bool = False) -> Context:
        """A context that shows the certificate, and trusts some CAs, PEM; the host's where there are none.

        Raises OSError, ValueError.
        """
        if self._trusted is None:
            self.reload()
        certificate, key = self._pair or (b"", b"")
        return context_of("" if insecure else authorities, certificate, key, insecure)

    def of_kubelets(self, *, insecure: bool = False) -> Context:
        """A context that trusts the CAs of the file; everybody where no file is named, as kube-apiserver does."""
        if self._trusted is None:
            self.reload()
        return self.context(self._trusted or "", insecure=insecure or not self._trusted)
