"""Another server's answer as that of a request: streamed, or a tunnel where the connection was upgraded."""

from __future__ import annotations

from collections.abc import Iterable

from gateway.forwarding.headers import returned
from gateway.http.cycle import SWITCHING
from gateway.http.exchange import Aborted, Header, Response
from gateway.http.status import StatusError
from gateway.http.tunnel import End, join
from gateway.outbound.client import Streamed
from gateway.outbound.errors import CallError

IDLE = 4 * 3600.0  # seconds in which nothing moves until a tunnel ends, as with kubelets

_CONTENT_TYPE = b"content-type"


class Passing:
    """The parts of an answer's body. An answer that is cut ends the client's connection, so that it can tell."""

    def __init__(self, answer: Streamed) -> None:
        self._answer = answer

    def __aiter__(self) -> Passing:
        return self

    async def __anext__(self) -> bytes:
        """The next part. Raises Aborted where the answer is cut."""
        try:
            return await anext(self._answer)
        except CallError as error:
            raise Aborted(str(error)) from None

    async def aclose(self) -> None:
        """Lets the other server know that nobody reads any more."""
        await self._answer.aclose()


class Joined:
    """A tunnel between a client and another server."""

    def __init__(self, answer: Streamed) -> None:
        self._answer = answer

    async def run(self, client: End) -> None:
        """Carries bytes until either side ends, or nothing has moved for `IDLE` seconds."""
        await join(client, FarEnd(self._answer), IDLE)

    async def aclose(self) -> None:
        """Ends the connection to the other server, once it has got what was sent."""
        self._answer.finish()


class FarEnd:
    """The other server's end of a tunnel."""

    def __init__(self, answer: Streamed) -> None:
        self._answer = answer
        self.write = answer.write

    async def read(self) -> bytes:
        """What has come since; b"" once the server says no more."""
        try:
            return await anext(self._answer, b"")
        except CallError:
            return b""

    async def drain(self) -> None:
        await self._answer.drain()


def passed(answer: Streamed, replaced: Iterable[Header] = ()) -> Response:
    """The answer with its headers, but for those that are `replaced`."""
    others = list(replaced)
    names = {name for name, _ in others}
    headers = [header for header in returned(answer.headers) if header[0] not in names] + others
    content_type = next((value for name, value in headers if name == _CONTENT_TYPE), b"")
    headers = [header for header in headers if header[0] != _CONTENT_TYPE]
    return Response(answer.status, Passing(answer), content_type, headers, encoded=True)


async def upgraded(answer: Streamed) -> Response:
    """What becomes of a request that asked for an upgrade: a tunnel, or the refusal as it is.

    Raises StatusError 500 for an answer that is neither.
    """
    if answer.status == SWITCHING:
        headers = [header for header in answer.headers if header[0] != b"content-length"]
        return Response(SWITCHING, b"", b"", headers, tunnel=Joined(answer), encoded=True)
    if answer.status < 400:
        await answer.aclose()
        raise StatusError(500, "", f"invalid upgrade response: status code {answer.status}")
    return passed(answer)


def upgrade_failed(error: CallError) -> StatusError:
    """500 for an upgrade that the other server could not be asked for."""
    said = str(error)
    if error.dialling:
        return StatusError(500, "", f"error dialing backend: {said}")
    return StatusError(500, "", "unexpected EOF" if said == "EOF" else said)
