"""Keeps OpenSSL from computing with an elliptic curve that the other side of a TLS connection describes itself.

OpenSSL parses the keys of all certificates when it reads them, before it verifies anything. A key may describe its
curve instead of naming it, and may leave out half of its point: OpenSSL then takes a square root modulo a prime of the
sender's choice. With a suitable prime of 661 bits that is 0.1 s for each certificate of 700 bytes. Go's crypto/x509
reads neither form, and closes the connection.
"""

from __future__ import annotations

import ctypes
import logging
import re
import ssl

from gateway.outbound.openssl import library, pointer_of

log = logging.getLogger(__name__)

_HANDSHAKE = 22  # SSL3_RT_HANDSHAKE
_CERTIFICATE, _FINISHED, _COMPRESSED = 11, 20, 25  # messages of a handshake (RFC 8446, RFC 8879)
_HEAD = 4  # bytes of a message's type and length
_NO_COMPRESSED_CERTIFICATES = 1 << 33  # SSL_OP_NO_RX_CERTIFICATE_COMPRESSION; older versions have no such option
_KEY = rb"\x2a\x86\x48\xce\x3d\x02\x01"  # the content of id-ecPublicKey (RFC 5480), which BER cannot split
_WHOLE_POINT = rb"\x03(?:[\x00-\x7f]|\x81.)\x00\x04"
_NAMED = b"|".join(rb"\x06%b.{%d}" % (re.escape(bytes([size])), size) for size in range(5, 10))
_unnamed = re.compile(_KEY + rb"(?!(?:" + _NAMED + rb")" + _WHOLE_POINT + rb")", re.DOTALL).search

_Callback = ctypes.CFUNCTYPE(
    None, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p
)


def has_unnamed_curve(encoded: bytes) -> bool:
    """Whether certificates in DER, or a TLS message with them, have a key whose curve is not named or whose point is
    compressed.
    """
    return _unnamed(encoded) is not None


def require_named_curves(context: ssl.SSLContext) -> bool:
    """Makes the connections of a context end in the handshake if the other side sends a certificate with an unnamed
    curve; returns whether that was possible.

    OpenSSL shows a message to a callback before it parses it. The callback makes such a message invalid.
    """
    context.options |= ssl.OP_NO_RENEGOTIATION  # as in Go; a second handshake would not be looked at
    found = library() if _look is not None else None
    if found is None:
        log.debug("OpenSSL parses all curves of certificates, because it is built into the interpreter")
        return False
    install, set_options = found.SSL_CTX_set_msg_callback, found.SSL_CTX_set_options
    install.argtypes, install.restype = [ctypes.c_void_p, _Callback], None
    set_options.argtypes, set_options.restype = [ctypes.c_void_p, ctypes.c_uint64], ctypes.c_uint64
    set_options(pointer_of(context), _NO_COMPRESSED_CERTIFICATES)
    install(pointer_of(context), _look)
    return True


def _seen(
    written: int, version: int, kind: int, message: int, length: int, connection: int, argument: int | None
) -> None:
    if kind != _HANDSHAKE or written or length < _HEAD:
        return
    name = ctypes.string_at(message, 1)[0]
    if name == _FINISHED:  # no certificate comes after it; data must not pay for the callback
        found = library()
        assert found is not None
        found.SSL_set_msg_callback(ctypes.c_void_p(connection), None)
    elif name == _COMPRESSED or (name == _CERTIFICATE and has_unnamed_curve(ctypes.string_at(message, length))):
        ctypes.memset(message + _HEAD, 0xFF, min(length - _HEAD, 3))  # a length that is longer than the message


def _made() -> ctypes._CFunctionType | None:
    try:
        return _Callback(_seen)
    except MemoryError:  # the system forbids code that is made at run time
        return None


_look = _made()  # must live as long as the process, because OpenSSL keeps its address
