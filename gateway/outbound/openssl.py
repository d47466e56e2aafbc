"""Calls functions of OpenSSL that Python's ssl does not offer, in the C library that ssl itself uses."""

from __future__ import annotations

import _ssl
import ctypes
import ssl
import sys
from functools import cache

_HEAD = object.__basicsize__  # size of a Python object's head; in ssl.SSLContext, OpenSSL's SSL_CTX pointer follows it


@cache
def library() -> ctypes.CDLL | None:
    """The OpenSSL library that ssl has loaded; None if it is not accessible, as when it is linked into the interpreter
    without exporting its functions.
    """
    if sys.implementation.name != "cpython":
        return None
    try:
        found = ctypes.CDLL(getattr(_ssl, "__file__", None))
        version = found.OpenSSL_version_num
    except (OSError, AttributeError):
        return None
    version.restype = ctypes.c_ulong
    # a second OpenSSL in the process must not get the pointers of ssl's
    return found if version() == ssl.OPENSSL_VERSION_NUMBER else None


def pointer_of(context: ssl.SSLContext) -> int:
    """The address of a context's SSL_CTX."""
    found = ctypes.c_void_p.from_address(id(context) + _HEAD).value
    assert found is not None
    return found
