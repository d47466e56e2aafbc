"""Tells clients in the TLS handshake which CAs their certificates may be of, as Go's servers do.

A client with certificates of several CAs chooses by these names. OpenSSL has a list for them apart from the trusted
CAs, for which Python's ssl has no function: it is set through the C library that ssl uses.
"""

from __future__ import annotations

import _ssl
import ctypes
import logging
import ssl
import sys

log = logging.getLogger(__name__)

_HEAD = object.__basicsize__  # of every Python object; in ssl.SSLContext OpenSSL's SSL_CTX pointer comes next


def name_authorities(context: ssl.SSLContext) -> bool:
    """Makes a server's context send the subjects of its CAs; returns whether that could be done.

    It can't be where OpenSSL is a part of the interpreter and shows none of its functions.
    """
    subjects = [each for each in context.get_ca_certs(binary_form=True) if each]
    if not subjects or sys.implementation.name != "cpython":
        return False
    try:
        library = _library()
    except (OSError, AttributeError) as error:
        log.debug("the CAs of clients can't be named", extra={"error": str(error)})
        return False
    pointer = ctypes.c_void_p.from_address(id(context) + _HEAD).value
    for der in subjects:
        source = (ctypes.c_ubyte * len(der)).from_buffer_copy(der)
        place = ctypes.cast(source, ctypes.POINTER(ctypes.c_ubyte))
        certificate = library.d2i_X509(None, ctypes.byref(place), len(der))
        if certificate:
            library.SSL_CTX_add_client_CA(pointer, certificate)  # it keeps a copy of the name
            library.X509_free(certificate)
    return True


def _library() -> ctypes.CDLL:
    """OpenSSL as ssl has loaded it. Raises OSError, AttributeError."""
    path = getattr(_ssl, "__file__", None)
    library = ctypes.CDLL(path)
    library.d2i_X509.restype = ctypes.c_void_p
    library.d2i_X509.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long]
    library.SSL_CTX_add_client_CA.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    library.X509_free.argtypes = [ctypes.c_void_p]
    library.X509_free.restype = None
    return library
