"""Writes chunks of a streamed answer directly to the connection, without waking the answer's task.

When hundreds of watches are told of one change, waking the task of each of them would be most of the cost. An answer
that waits for long rests: it has no task any more until its sink is woken, since that takes ten kilobytes.
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

    def may_rest(self) -> bool:
        """Whether the answer may go on without its task: nothing of the request is yet to come, its client is there."""
        ...

    def wake(self) -> None:
        """Has a task ask the body for its next chunk again, after it has rested."""
        ...


class Pourable(AsyncIterator[bytes]):
    """A body that goes on by a sink while nobody asks it for its next chunk."""

    @property
    @abstractmethod
    def resting(self) -> bool:
        """Whether its chunks have ended only for now: there are more once its sink is woken."""

    @abstractmethod
    def pour_into(self, sink: Sink) -> None:
        """Takes a sink."""
