"""Lets a server accept any client certificate in the TLS handshake; access/client_certificates.py verifies it later.

Go does the same with RequestClientCert. So a certificate of an unknown CA, sent together with a valid token, does not
close the connection, and it can be verified against several sets of CAs.

OpenSSL's function for that is SSL_CTX_set_cert_verify_callback. The callback replaces the verification of the chain,
and nothing else: the message CertificateVerify still proves that the client holds the certificate's key.
"""

from __future__ import annotations

import ctypes
import logging
import ssl

from gateway.outbound.openssl import library, pointer_of

log = logging.getLogger(__name__)

LARGEST_CHAIN = 32 << 10  # bytes of all certificates together, which are kept for as long as the connection
_SET_MAX_CERT_LIST = 51  # SSL_CTRL_SET_MAX_CERT_LIST

_Callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


def judge_later(context: ssl.SSLContext) -> bool:
    """Makes a server's context accept any client certificate; returns whether that was possible.

    If it was not, OpenSSL still verifies certificates in the handshake, and refuses those of unknown CAs there.
    """
    if _let_pass is None:
        return False
    found = library()
    if found is None:
        log.debug("client certificates are checked in the TLS handshake, because OpenSSL is built into the interpreter")
        return False
    try:
        install, control = found.SSL_CTX_set_cert_verify_callback, found.SSL_CTX_ctrl
    except AttributeError:
        return False
    install.argtypes, install.restype = [ctypes.c_void_p, _Callback, ctypes.c_void_p], None
    control.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_long, ctypes.c_void_p]
    control.restype = ctypes.c_long
    install(pointer_of(context), _let_pass, None)
    control(pointer_of(context), _SET_MAX_CERT_LIST, LARGEST_CHAIN, None)
    return True


def _made() -> ctypes._CFunctionType | None:
    try:
        return _Callback(lambda store, argument: 1)
    except MemoryError:  # the system forbids code that is made at run time
        return None


_let_pass = _made()  # must live as long as the process, because OpenSSL keeps its address
