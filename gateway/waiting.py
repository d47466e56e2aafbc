"""Waiting for etcd at start: which of its errors will not pass by themselves."""

from __future__ import annotations

from storage.errors import PermissionDenied, StorageError, Unauthenticated, Unavailable

_BAD_CERTIFICATE = ("CERTIFICATE_VERIFY_FAILED", "CERTIFICATE_REQUIRED", "UNKNOWN_CA", "BAD_CERTIFICATE")
_NO_TLS = "WRONG_VERSION_NUMBER"


def hopeless(error: StorageError | None) -> str:
    """What is wrong with the settings, in a line, where etcd's answer leaves no other reading; else empty."""
    match error:
        case Unauthenticated():
            return f"etcd refuses the user: {error}; see --etcd-username and --etcd-password"
        case PermissionDenied():
            return f"etcd's user may not read or write what is under --etcd-prefix: {error}"
        case Unavailable() if any(sign in str(error).upper() for sign in _BAD_CERTIFICATE):
            return "the certificates of etcd and of this server don't fit: see --etcd-cafile and --etcd-certfile"
        case Unavailable() if _NO_TLS in str(error).upper():
            return "etcd does not speak TLS: name it with http:// in --etcd-servers"
    return ""
