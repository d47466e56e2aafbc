"""Applies that change nothing, known again by what they are made of.

Controllers and deployment tools apply the same configuration again and again, to objects that already are as it says.
What comes of an apply follows from the object, the configuration and the manager alone, so one that changed nothing
need not be worked out anew.
"""

from __future__ import annotations

from hashlib import blake2b

MOST = 4096
"""Applies that are remembered; when there are more, all are forgotten: those that are made again are soon back."""


class Repeated:
    """The applies to objects of one endpoint that changed nothing, each as a digest of 16 bytes."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: set[bytes] = set()

    def __contains__(self, digest: bytes) -> bool:
        """Whether the apply of this digest is known to change nothing."""
        return digest in self._known

    def add(self, digest: bytes) -> None:
        """Remembers an apply that has changed nothing."""
        if len(self._known) >= MOST:
            self._known.clear()
        self._known.add(digest)


def digest_of(value: bytes, revision: int, config: bytes, asked: bytes) -> bytes:
    """What stands for an apply of `config`, as it was sent, to the object that is stored as `value` at a revision.

    `asked` is all else that the outcome depends on: the manager and the options. The revision counts since a
    configuration may name it.
    """
    digest = blake2b(b"%d %d %d " % (len(value), len(config), revision), digest_size=16)
    digest.update(value)
    digest.update(config)
    digest.update(asked)
    return digest.digest()
