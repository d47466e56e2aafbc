"""Writes chunks of a streamed answer directly to the connection, without waking the answer's task.

When hundreds of watches are told of one change, waking the task of each of them would be most of the cost.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterator
from typing import Protocol


class Sink(Protocol):
    """Where a stream's chunks may go once what its task gave before is written: the connection, which frames them."""

    def pour(self, chunk: bytes) -> bool:
        """Writes a chunk that is not empty; False when the client is slow or gone, and nothing was written."""
        ...


class Pourable(AsyncIterator[bytes]):
    """A body that goes on by a sink while nobody asks it for its next chunk."""

    @abstractmethod
    def pour_into(self, sink: Sink) -> None:
        """Takes a sink."""
