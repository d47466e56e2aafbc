"""What feeder and workers tell each other: packets of a unix socket that keeps their bounds (SOCK_SEQPACKET).

A packet is a kind, a number and what belongs to it: nothing, or records of where values are.
"""

from __future__ import annotations

from enum import IntEnum
from struct import Struct

PACKET = 60_000  # bytes, about: what a socket takes at once
HEAD = Struct("<BQ")
RECORD = Struct("<BIIIIQ")  # flags, length of the key, segment, start, end, revision
SEGMENT = Struct("<Q")  # its size
LINEAGE = Struct("<QQB")  # cluster, raft term, whether progress can be asked for

SPLICED, DELETED, UNREADABLE = 1, 2, 4  # flags


class PacketType(IntEnum):
    """What a packet is; in brackets, what its number is."""

    SEGMENT = 1  # another segment, whose descriptor comes along [its number]
    ITEMS = 2  # part of what there was at the beginning
    COMPLETE = 3  # that was all of it, with the lineage of etcd [the revision as of which]
    PART = 4  # changes that others of the same revision follow
    CHANGES = 5  # the last changes up to a revision, or none [the revision]
    MOVED = 6  # values that are elsewhere from now on
    RETIRED = 7  # nothing that is in use is in a segment any more [its number]
    NOT_YET = 8  # there is too little to be shared
    PROGRESS = 9  # from a worker: wants to know how far etcd is [a revision that etcd has]
    MORE = 10  # of a record that is too long for a packet: the rest begins the next one


def record(key: bytes, flags: int, segment: int, start: int, end: int, revision: int) -> bytes:
    """Where the value of a key is, as of a revision."""
    return RECORD.pack(flags, len(key), segment, start, end, revision) + key


def packets(kind: PacketType, number: int, records: list[bytes], last: PacketType | None = None) -> list[bytes]:
    """Records in as many packets as they take, the last one of another kind; at least one."""
    found: list[bytes] = []
    piece: list[bytes] = []
    size = 0
    for each in records:
        if piece and size + len(each) > PACKET:
            found.append(HEAD.pack(kind, number) + b"".join(piece))
            piece, size = [], 0
        while len(each) > PACKET:  # etcd takes keys of more than a megabyte
            found.append(HEAD.pack(PacketType.MORE, 0) + each[:PACKET])
            each = each[PACKET:]
        piece.append(each)
        size += len(each)
    found.append(HEAD.pack(kind if last is None else last, number) + b"".join(piece))
    return found
