"""Shuffle sharding: each flow is dealt a hand of queues, so that few flows share all of theirs with a heavy one."""

from __future__ import annotations

from hashlib import sha256


def flow_hash(schema: str, distinguisher: str) -> int:
    """64 bits of a flow's name."""
    return int.from_bytes(sha256(f"{schema}\0{distinguisher}".encode("utf-8", "surrogatepass")).digest()[:8], "little")


def hand(number: int, queues: int, size: int) -> tuple[int, ...]:
    """`size` different numbers below `queues`, chosen by `number`."""
    dealt: list[int] = []
    for taken in range(min(size, queues)):
        number, card = divmod(number, queues - taken)
        for other in sorted(dealt):
            card += other <= card
        dealt.append(card)
    return tuple(dealt)
