"""Writing a streamed answer's chunks at once, without waking the task that the answer is of.

Where hundreds are told the same, what each of them costs is a turn of its task and of all that lies between it and the
transport.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol, runtime_checkable


class Sink(Protocol):
    """Where a stream's chunks may go once what its task gave before is written: the connection, which frames them."""

    def pour(self, chunk: bytes) -> bool:
        """Writes a chunk that is not empty; False when the client is slow or gone, and nothing was written."""
        ...


@runtime_checkable
class Pourable(Protocol):
    """A body that goes on by a sink while nobody asks it for its next chunk."""

    def __aiter__(self) -> AsyncIterator[bytes]: ...

    def pour_into(self, sink: Sink) -> None:
        """Takes a sink."""
        ...
