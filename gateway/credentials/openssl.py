"""Functions of OpenSSL for which Python's ssl has none: they are called in the C library that ssl itself uses."""

from __future__ import annotations

import _ssl
import ctypes
import ssl
import sys

_HEAD = object.__basicsize__  # of every Python object; in ssl.SSLContext OpenSSL's SSL_CTX pointer comes next


def library() -> ctypes.CDLL | None:
    """OpenSSL as ssl has loaded it; None where it cannot be reached.

    It cannot where OpenSSL is a part of the interpreter and shows none of its functions.
    """
    if sys.implementation.name != "cpython":
        return None
    try:
        found = ctypes.CDLL(getattr(_ssl, "__file__", None))
        version = found.OpenSSL_version_num
    except (OSError, AttributeError):
        return None
    version.restype = ctypes.c_ulong
    # another OpenSSL in the process would take ssl's pointers for its own
    return found if version() == ssl.OPENSSL_VERSION_NUMBER else None


def pointer_of(context: ssl.SSLContext) -> int:
    """The SSL_CTX of a context."""
    found = ctypes.c_void_p.from_address(id(context) + _HEAD).value
    assert found is not None
    return found
