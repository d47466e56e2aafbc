"""The protocol between feeder and workers: packets on a Unix socket that keeps message boundaries (SOCK_SEQPACKET).

A packet has a kind, a number, and a content: nothing, or records with the places of values.
"""

from __future__ import annotations

from enum import IntEnum
from struct import Struct

PACKET = 60_000  # bytes of a packet, about: a socket accepts so much at once
HEAD = Struct("<BQ")
RECORD = Struct("<BIIIIQ")  # flags, length of the key, segment, start, end, revision
SEGMENT = Struct("<Q")  # its size
LINEAGE = Struct("<QQB")  # cluster, raft term, whether progress can be asked for

SPLICED, DELETED, UNREADABLE = 1, 2, 4  # flags


class PacketType(IntEnum):
    """The kind of a packet; in brackets, the meaning of its number."""

    SEGMENT = 1  # a new segment, sent with its file descriptor [its number]
    ITEMS = 2  # some of the initial values
    COMPLETE = 3  # the end of the initial values, with the lineage of etcd [their revision]
    PART = 4  # changes; more packets of the same revision follow
    CHANGES = 5  # the last changes up to a revision, or none [the revision]
    MOVED = 6  # new places of values
    RETIRED = 7  # a segment that has no value in use any more [its number]
    NOT_YET = 8  # there are too few values to share
    PROGRESS = 9  # from a worker: requests progress [a revision that etcd has reached]
    MORE = 10  # the begin of a record that is too long for a packet: the next packet begins with the rest


def record(key: bytes, flags: int, segment: int, start: int, end: int, revision: int) -> bytes:
    """A record: the place of the value that a key got at a revision."""
    return RECORD.pack(flags, len(key), segment, start, end, revision) + key


def packets(kind: PacketType, number: int, records: list[bytes], last: PacketType | None = None) -> list[bytes]:
    """Packs records into packets, at least one. The last packet has the kind `last`, if that is given."""
    found: list[bytes] = []
    piece: list[bytes] = []
    size = 0
    for each in records:
        if piece and size + len(each) > PACKET:
            found.append(HEAD.pack(kind, number) + b"".join(piece))
            piece, size = [], 0
        while len(each) > PACKET:  # etcd allows keys of more than a megabyte
            found.append(HEAD.pack(PacketType.MORE, 0) + each[:PACKET])
            each = each[PACKET:]
        piece.append(each)
        size += len(each)
    found.append(HEAD.pack(kind if last is None else last, number) + b"".join(piece))
    return found
