"""Certificates, requests and private keys whose numbers are expensive to check, in DER and PEM."""

from __future__ import annotations

import base64
import random
from datetime import UTC, datetime, timedelta
from math import gcd, prod

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from cryptography.x509.oid import NameOID

KEY = ec.generate_private_key(ec.SECP256R1())
_NAME = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "mallory")])
_DIFFIE_HELLMAN = bytes.fromhex("06092a864886f70d010301")
_ELLIPTIC = bytes.fromhex("06072a8648ce3d0201")
_PRIME_FIELD = bytes.fromhex("06072a8648ce3d0101")
_DSA = bytes.fromhex("06072a8648ce380401")
_SMALL = prod(each for each in range(3, 6000, 2) if all(each % below for below in range(3, int(each**0.5) + 1, 2)))


def integer(number: int) -> bytes:
    """An INTEGER."""
    content = number.to_bytes(number.bit_length() // 8 + 1, "big")
    return b"\x02" + _length(len(content)) + content


def sequence(*parts: bytes) -> bytes:
    """A SEQUENCE."""
    content = b"".join(parts)
    return b"\x30" + _length(len(content)) + content


def octets(content: bytes) -> bytes:
    """An OCTET STRING."""
    return b"\x04" + _length(len(content)) + content


def _length(length: int) -> bytes:
    if length < 0x80:
        return bytes([length])
    size = (length.bit_length() + 7) // 8
    return bytes([0x80 | size]) + length.to_bytes(size, "big")


def pem(der: bytes, label: str) -> bytes:
    """A PEM block."""
    return b"-----BEGIN %b-----\n%b-----END %b-----\n" % (label.encode(), base64.encodebytes(der), label.encode())


def safe_prime(bits: int, summand: int) -> int:
    """A prime of RFC 3526: 2^n - 2^(n-64) - 1 + 2^64 * ([2^(n-130) pi] + summand)."""
    unity = 1 << (bits - 66)
    pi = 4 * (4 * _arc_tangent(5, unity) - _arc_tangent(239, unity)) >> 64
    return int(2**bits - 2 ** (bits - 64) - 1 + 2**64 * (pi + summand))


def _arc_tangent(of: int, unity: int) -> int:
    """The arc tangent of 1/of, times unity."""
    term = total = unity // of
    divisor = 3
    while term:
        term //= -of * of
        total += term // divisor
        divisor += 2
    return total


def diffie_hellman_key() -> bytes:
    """A public key of 4096 bits. OpenSSL knows the group with the generator 2, and so tests the prime only with
    another one: that takes some seconds.
    """
    prime = safe_prime(4096, 240904)
    key = integer(pow(4, 5, prime))
    bits = b"\x03" + _length(len(key) + 1) + b"\x00" + key
    return sequence(sequence(_DIFFIE_HELLMAN, sequence(integer(prime), integer(4))), bits)


def unnamed_curve_key() -> bytes:
    """A public key that describes its curve, y^2 = x^3 + 2x + 3, and leaves out half of its point. The prime p has 661
    bits, the most that OpenSSL takes, and p - 1 is divisible by 2^640: a square root takes 640^2 / 2 multiplications.
    """
    prime = 1049041 << 640 | 1
    size = (prime.bit_length() + 7) // 8
    two, three = bytes(size - 1) + b"\x02", bytes(size - 1) + b"\x03"
    point = b"\x02" + two  # x is 2: then there is a root
    field, curve = sequence(_PRIME_FIELD, integer(prime)), sequence(octets(two), octets(three))
    described = sequence(integer(1), field, curve, octets(point), integer(prime - 2), integer(1))
    bits = b"\x03" + _length(len(point) + 1) + b"\x00" + point
    return sequence(sequence(_ELLIPTIC, described), bits)


def certificate() -> x509.Certificate:
    """A self-signed certificate of a client; no CA pool has it."""
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(_NAME, _NAME, KEY.public_key(), 1, now - timedelta(1), now + timedelta(1))
    return builder.sign(KEY, hashes.SHA256())


def request() -> bytes:
    """A certificate request in DER."""
    return x509.CertificateSigningRequestBuilder(_NAME).sign(KEY, hashes.SHA256()).public_bytes(Encoding.DER)


def with_key(der: bytes, key: bytes) -> bytes:
    """A certificate or request with another public key. Its signature is wrong then."""
    own = KEY.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    outer = _content(der)
    signed = _content(outer)
    rest = outer[len(sequence(signed)) :]
    assert own in signed
    return sequence(sequence(signed.replace(own, key)), rest)


def _content(der: bytes) -> bytes:
    """The content of the first element."""
    size = der[1] & 0x7F if der[1] & 0x80 else 0
    length = int.from_bytes(der[2 : 2 + size], "big") if size else der[1]
    return der[2 + size : 2 + size + length]


def own_key() -> bytes:
    """The private key of `certificate`, in PEM."""
    return KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def rsa_key(bits: int) -> bytes:
    """A private RSA key whose factors have no small divisor, but are not prime, as far as anybody knows."""
    chance = random.Random(0)
    exponent = 65537
    while True:
        p, q = (_without_small_divisors(chance, bits // 2) for _ in range(2))
        if gcd(exponent, (p - 1) * (q - 1)) == gcd(p, q) == 1:
            break
    d = pow(exponent, -1, (p - 1) * (q - 1))
    rest = (d % (p - 1), d % (q - 1), pow(q, -1, p))
    return sequence(*map(integer, (0, p * q, exponent, d, p, q, *rest)))


def _without_small_divisors(chance: random.Random, bits: int) -> int:
    found = chance.getrandbits(bits) | 3 << bits - 2 | 1
    while gcd(found, _SMALL) != 1:
        found += 2
    return found


def dsa_key(bits: int) -> bytes:
    """A private DSA key in PKCS #8. Its public half is not in it, and has to be computed."""
    chance = random.Random(0)
    p, q, g, x = (chance.getrandbits(size) | 1 << size - 1 | 1 for size in (bits, bits // 2, bits - 1, bits - 1))
    parameters = sequence(integer(p), integer(q), integer(g))
    return sequence(integer(0), sequence(_DSA, parameters), octets(integer(x)))
