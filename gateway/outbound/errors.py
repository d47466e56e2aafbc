"""The errors of a call, with the messages of Go's net/http: clients and operators know these from kube-apiserver."""

from __future__ import annotations

import errno
import socket
import ssl

_UNKNOWN_AUTHORITY = frozenset({2, 18, 19, 20, 21})  # OpenSSL's codes for a chain without a trusted CA
_NOT_NOW = frozenset({9, 10})  # OpenSSL's codes for a certificate that is not valid yet, or has expired
_NO_TLS = frozenset({"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG", "HTTP_REQUEST"})
_ALERT = "ALERT_"

OUT_OF_BOUNDS = "permission denied: a control plane may not call this address (--control-planes-reach)"
DEADLINE = "context deadline exceeded"


class NoPlace(Exception):
    """Too many requests are proxied to other servers, in total or for one user; the message says which."""


class CallError(Exception):
    """A server could not be called, or did not answer in HTTP; the message says why.

    `reset`: the connection broke after it was made, so another attempt may succeed. `late`: the deadline passed.
    `dialling`: no connection was made. `cut`: the head of an answer came, but not its whole body.
    """

    def __init__(
        self, message: str, *, reset: bool = False, late: bool = False, dialling: bool = False, cut: bool = False
    ) -> None:
        super().__init__(message)
        self.reset, self.late, self.dialling, self.cut = reset, late, dialling, cut


def deadline_exceeded(*, cut: bool = False) -> CallError:
    """The error for a call whose deadline has passed; `cut` as in CallError."""
    return CallError(DEADLINE, late=True, cut=cut)


def dialling(error: OSError | ValueError, host: str, port: int) -> CallError:
    """The error for a connection that could not be made."""
    return CallError(_of_dialling(error, host, port), dialling=True)


def _of_dialling(error: OSError | ValueError, host: str, port: int) -> str:
    match error:
        case ssl.SSLError():
            return _tls(error)
        case socket.gaierror():
            return f"dial tcp: lookup {host}: no such host"
        case TimeoutError():
            return f"dial {address(host, port)}: i/o timeout"
        case ConnectionAbortedError() if "handshake" in str(error):
            return "net/http: TLS handshake timeout"
        case ConnectionResetError() if error.errno is None:  # during the handshake
            return "EOF"
        case OSError():
            return f"dial {address(host, port)}: connect: {_of_system(error)}"
        case _:
            return f"dial {address(host, port)}: {error}"


def broken(error: Exception | None, started: bool) -> CallError:
    """The error for a connection that ended before the answer; `started` if a part of the answer had come."""
    if isinstance(error, ssl.SSLError):
        return CallError(_tls(error), reset=True)
    if isinstance(error, OSError) and error.errno:
        return CallError(f"read: {_of_system(error)}", reset=True)
    return CallError("unexpected EOF" if started else "EOF", reset=True)


def address(host: str, port: int) -> str:
    """A network and an address, as Go prints them: "tcp 10.0.0.1:80"."""
    return f"tcp [{host}]:{port}" if ":" in host else f"tcp {host}:{port}"


def _of_system(error: OSError) -> str:
    if error.strerror == OUT_OF_BOUNDS:
        return OUT_OF_BOUNDS
    name = errno.errorcode.get(error.errno or 0, "")
    words = {
        "ECONNREFUSED": "connection refused",
        "ECONNRESET": "connection reset by peer",
        "EPIPE": "broken pipe",
        "EHOSTUNREACH": "no route to host",
        "ENETUNREACH": "network is unreachable",
        "ETIMEDOUT": "connection timed out",
        "EADDRNOTAVAIL": "cannot assign requested address",
        "EINVAL": "invalid argument",
        "EACCES": "permission denied",
        "EMFILE": "too many open files",
    }
    if name not in words and isinstance(error, ConnectionRefusedError):
        return words["ECONNREFUSED"]
    return words.get(name) or (error.strerror or str(error)).lower()


def _tls(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code in _UNKNOWN_AUTHORITY:
            return unverified("certificate signed by unknown authority")
        if error.verify_code in _NOT_NOW:
            return unverified("certificate has expired or is not yet valid")
        return unverified(error.verify_message)
    reason = error.reason or ""
    if reason in _NO_TLS:
        return "tls: first record does not look like a TLS handshake"
    if _ALERT in reason:  # such as TLSV13_ALERT_CERTIFICATE_REQUIRED
        return f"remote error: tls: {reason.partition(_ALERT)[2].lower().replace('_', ' ')}"
    return f"tls: {reason.lower().replace('_', ' ')}" if reason else "EOF"


def unverified(why: str) -> str:
    """The message for a certificate that is refused."""
    return f"tls: failed to verify certificate: x509: {why}"
