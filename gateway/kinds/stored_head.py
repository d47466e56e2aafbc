"""How stored values begin."""

from __future__ import annotations


def head_of(kind: str, api_version: str) -> bytes:
    """How every stored object of a kind starts."""
    return f'{{"kind":"{kind}","apiVersion":"{api_version}",'.encode()
