"""The transaction of a usual write, as bytes: it sets one key if that key has a mod revision (0: if it is absent).

To make it of messages of protobuf, and to serialize these, takes twice as long. The bytes are the same.
"""

from __future__ import annotations

from operator import methodcaller
from typing import Protocol

import grpc

from storage.etcd.generated import rpc_pb2

MOST_KEY = 112
"""The most bytes of a key: with a longer one, the length of a part with the key and a revision may take two bytes."""


class TransactionMessage(Protocol):
    """A transaction: a message of protobuf, or a SwapRequest."""

    def SerializeToString(self) -> bytes:
        """The request as etcd reads it."""
        ...


class SwapRequest:
    """An etcdserverpb.TxnRequest of one comparison, one put, and one range if the comparison fails.

    It has the only method of a message that a call needs.
    """

    __slots__ = ("_written",)

    def __init__(self, key: bytes, value: bytes, revision: int, lease: int) -> None:
        """`key` has 1 to MOST_KEY bytes, `value` is not empty, and `revision` and `lease` are not negative."""
        length, compared = len(key), _varint(revision)
        measure, leased = _varint(len(value)), b"\x18" + _varint(lease) if lease else b""
        size = 3 + length + len(measure) + len(value) + len(leased)
        put = _varint(size)
        # a comparison (target MOD, key, revision), an operation (a put of key, value, lease), another one (a range)
        self._written = (
            b"\x0a%c\x10\x02\x1a%c%b\x30%b\x12%b\x12%b\x0a%c%b\x12%b%b%b\x1a%c\x0a%c\x0a%c%b"
            % (length + 5 + len(compared), length, key, compared, _varint(1 + len(put) + size), put,
               length, key, measure, value, leased, length + 4, length + 2, length, key)
        )  # fmt: skip

    def SerializeToString(self) -> bytes:
        """The request as etcd reads it."""
        return self._written


def transactions(
    channel: grpc.aio.Channel,
) -> grpc.aio.UnaryUnaryMultiCallable[rpc_pb2.TxnRequest, rpc_pb2.TxnResponse]:
    """The method Txn of a channel, for a SwapRequest, too: the generated stub takes messages only."""
    return channel.unary_unary(
        "/etcdserverpb.KV/Txn",
        request_serializer=methodcaller("SerializeToString"),
        response_deserializer=rpc_pb2.TxnResponse.FromString,
    )


def _varint(number: int) -> bytes:
    """A number, which is not negative, as protobuf writes it: seven bits in a byte, the lowest first."""
    if number < 0x80:
        return b"%c" % number
    if number < 0x4000:
        return b"%c%c" % (number & 0x7F | 0x80, number >> 7)
    found = bytearray()
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)
