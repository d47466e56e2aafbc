"""Sends clients in the TLS handshake the names of the CAs whose certificates are accepted, as Go's servers do.

A client with certificates of several CAs chooses one by these names. OpenSSL has a separate list for them, besides the
trusted CAs, for which Python's ssl has no function.
"""

from __future__ import annotations

import ctypes
import logging
import ssl

from gateway.outbound.openssl import library, pointer_of

log = logging.getLogger(__name__)


def name_authorities(context: ssl.SSLContext) -> bool:
    """Makes a server's context send the subjects of its CAs; returns whether that was possible."""
    subjects = [each for each in context.get_ca_certs(binary_form=True) if each]
    if not subjects:
        return False
    found = library()
    if found is None:
        log.debug("the TLS handshake cannot name the CAs of clients, because OpenSSL is built into the interpreter")
        return False
    found.d2i_X509.restype = ctypes.c_void_p
    found.d2i_X509.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long]
    found.SSL_CTX_add_client_CA.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    found.X509_free.argtypes = [ctypes.c_void_p]
    found.X509_free.restype = None
    pointer = pointer_of(context)
    for der in subjects:
        source = (ctypes.c_ubyte * len(der)).from_buffer_copy(der)
        place = ctypes.cast(source, ctypes.POINTER(ctypes.c_ubyte))
        certificate = found.d2i_X509(None, ctypes.byref(place), len(der))
        if certificate:
            found.SSL_CTX_add_client_CA(pointer, certificate)  # it keeps a copy of the name
            found.X509_free(certificate)
    return True
