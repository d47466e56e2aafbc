"""Has a server take any client certificate in the handshake, to judge it afterwards (access/client_certificates.py).

So does Go with RequestClientCert: a certificate of an unknown CA beside a good token closes no connection, and several
pools of CAs may be tried for one connection. OpenSSL has an official place for it, SSL_CTX_set_cert_verify_callback:
what stands there decides in place of the verification of the chain, and of nothing else. The handshake still verifies
by CertificateVerify that the client holds the key of the certificate that it shows. Until it is judged the certificate
is no more than that.
"""

from __future__ import annotations

import ctypes
import logging
import ssl

from gateway.credentials.openssl import library, pointer_of

log = logging.getLogger(__name__)

LARGEST_CHAIN = 32 << 10  # bytes of all certificates together: they stay as long as the connection
_SET_MAX_CERT_LIST = 51  # SSL_CTRL_SET_MAX_CERT_LIST

_Callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


def judge_later(context: ssl.SSLContext) -> bool:
    """Makes a server's context ask clients for a certificate without judging it; returns whether that could be done.

    Where it could not, OpenSSL goes on judging: such a client is refused in the handshake, and no other is let in.
    """
    if _let_pass is None:
        return False
    found = library()
    if found is None:
        log.debug("client certificates are judged in the handshake: OpenSSL is a part of the interpreter")
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
    except MemoryError:  # where the system allows no code that is made at run time
        return None


_let_pass = _made()  # lives as long as the process: OpenSSL keeps its address
