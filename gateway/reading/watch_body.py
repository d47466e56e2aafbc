"""The body of a watch's answer."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable

from gateway.http.answer_sink import AnswerSink, Pourable
from gateway.reading.watch_stream import WatchStream


class WatchBody(Pourable):
    """The chunks of a watch stream. With a sink, the stream also writes changes directly."""

    __slots__ = ("_chunks", "_revision", "stream")

    def __init__(self, stream: WatchStream, revision: int) -> None:
        self.stream, self._revision = stream, revision
        self._chunks: AsyncGenerator[bytes, None] | None = stream.run(revision)

    def __aiter__(self) -> AsyncIterator[bytes]:
        if self._chunks is None:
            self._chunks = self.stream.run(self._revision)
        return self._chunks

    def __anext__(self) -> Awaitable[bytes]:
        assert self._chunks is not None
        return self._chunks.__anext__()

    async def aclose(self) -> None:
        """Closes the iterator, which ends the stream unless it rests."""
        chunks, self._chunks = self._chunks, None
        if chunks is not None:
            await chunks.aclose()

    def pour_into(self, sink: AnswerSink) -> None:
        """Lets the stream write changes directly to the connection from now on."""
        self.stream.sink = sink

    @property
    def resting(self) -> bool:
        """See Pourable."""
        return self.stream.state.rests
