"""The first bytes of stored values."""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=1024)  # control planes share them
def head_of(kind: str, api_version: str) -> bytes:
    """The bytes with which every stored object of a kind starts: its kind and apiVersion."""
    return f'{{"kind":"{kind}","apiVersion":"{api_version}",'.encode()
