"""Writes chunks of a streamed answer directly to the connection, without waking the answer's task.

When one change goes to hundreds of watches, waking a task for each would be most of the cost. An answer that waits for
long rests: its task, which takes ten kilobytes, ends, and a new one starts when the sink is woken.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterator
from typing import Protocol


class AnswerSink(Protocol):
    """The connection, as a streamed answer sees it: it takes chunks and frames them. Chunks from the answer's task must
    have been sent before.
    """

    def pour(self, chunk: bytes) -> bool:
        """Writes a chunk, which must not be empty. Returns False, and writes nothing, if the client is slow or gone."""
        ...

    def may_rest(self) -> bool:
        """Whether the answer may go on without its task: the request's body is complete and the client still reads."""
        ...

    def wake(self) -> None:
        """Continues a resting answer: starts a task that asks the body for its next chunk."""
        ...


class Pourable(AsyncIterator[bytes]):
    """A body that can write its chunks to a sink between the calls for its next chunk."""

    @property
    @abstractmethod
    def resting(self) -> bool:
        """Whether the iteration has ended only for now, and continues once the sink is woken."""

    @abstractmethod
    def pour_into(self, sink: AnswerSink) -> None:
        """Sets the sink."""
