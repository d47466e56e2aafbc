"""Writing a streamed answer's chunks at once, without waking the task that the answer is of.

Where hundreds are told the same, what each of them costs is a turn of its task and of all that lies between it and the
transport. Chunks that many get are framed for HTTP once.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol, runtime_checkable


class Connection(Protocol):
    """What a sink is of."""

    def pour(self, data: bytes) -> bool:
        """Writes a part of the answer's body, framed; False when it can't be written now, and nothing was."""
        ...


class _Framed:
    """The chunk that was framed last: the next who writes it has the same one."""

    __slots__ = ("chunk", "data")

    def __init__(self) -> None:
        self.chunk = self.data = b""


_last = _Framed()


class Sink:
    """Where a stream's chunks may go, once what its task has given before is written."""

    __slots__ = ("_connection",)

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def pour(self, chunk: bytes) -> bool:
        """Writes a chunk that is not empty; False when the client is slow or gone, and nothing was written."""
        if chunk is not _last.chunk:
            _last.chunk, _last.data = chunk, b"%x\r\n%b\r\n" % (len(chunk), chunk)
        return self._connection.pour(_last.data)


@runtime_checkable
class Pourable(Protocol):
    """A body that goes on by a sink while nobody asks it for its next chunk."""

    def __aiter__(self) -> AsyncIterator[bytes]: ...

    def pour_into(self, sink: Sink) -> None:
        """Takes a sink."""
        ...
