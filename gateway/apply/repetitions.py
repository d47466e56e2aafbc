"""Remembers applies that changed nothing, so that their repetitions are not computed again.

Controllers and deployment tools often apply the same configuration to objects that have it already. The result of an
apply depends only on the object, the configuration, the manager and the options.
"""

from __future__ import annotations

from hashlib import blake2b

MOST = 4096
"""The greatest number of remembered applies. When it is reached, all are forgotten; repeated ones soon come back."""


class Repeated:
    """The applies to objects of one endpoint that changed nothing, as digests of 16 bytes."""

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
    """The digest of an apply of the body `config` to the object stored as `value` at a mod revision.

    `asked` has all other input: the media type, the manager and the options. The revision is included because a
    configuration may have a resourceVersion.
    """
    digest = blake2b(b"%d %d %d " % (len(value), len(config), revision), digest_size=16)
    digest.update(value)
    digest.update(config)
    digest.update(asked)
    return digest.digest()
