"""Returns another server's answer to the client: as a stream, or as a tunnel if the connection was upgraded."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from gateway.forwarding.headers import returned
from gateway.http.cycle import SWITCHING
from gateway.http.exchange import Aborted, Header, Request, Response
from gateway.http.status import StatusError, too_many_requests
from gateway.http.tunnel import End, join
from gateway.outbound.client import Client, Streamed
from gateway.outbound.errors import CallError, NoPlace
from gateway.outbound.request import OutboundRequest
from gateway.outbound.target import Target

IDLE = 4 * 3600.0  # seconds without a byte after which a tunnel ends, as in kubelets
SOON = 0.2  # seconds after which headers are sent without a first part of the body, as kube-apiserver flushes them

_CONTENT_TYPE, _CONTENT_LENGTH = b"content-type", b"content-length"
_SMALL = 64 << 10  # bytes of an answer that is returned in one piece if it came in one
_BODILESS = {204: frozenset({_CONTENT_LENGTH}), 304: frozenset({_CONTENT_LENGTH, _CONTENT_TYPE})}


async def passed_on(client: Client, request: Request, target: Target, outbound: OutboundRequest) -> Streamed:
    """Sends a client's request to another server, and returns the answer.

    Raises CallError, StatusError 429 if too many requests are being forwarded.
    """
    try:
        return await client.pass_on(target, outbound, request.user.name)
    except NoPlace as error:
        raise too_many_requests(f"{error}: end some of them, or try again later") from None


class Passing:
    """The parts of an answer's body. If the answer is cut, so is the client's connection: the client notices it."""

    def __init__(self, answer: Streamed) -> None:
        self._answer = answer
        self._until: float | None = None

    def __aiter__(self) -> Passing:
        return self

    def end_at(self, until: float) -> None:
        """Has the answer cut if it lasts beyond a time of the event loop's clock."""
        self._until = until

    async def __anext__(self) -> bytes:
        """The next part. Raises Aborted where the answer is cut."""
        try:
            async with asyncio.timeout_at(self._until):
                return await anext(self._answer)
        except CallError as error:
            raise Aborted(str(error)) from None
        except TimeoutError:
            raise Aborted("the answer did not end in time") from None

    async def aclose(self) -> None:
        """Ends the reading. Closes the connection to the other server, unless the answer was read to its end."""
        await self._answer.aclose()


class Begun(Passing):
    """A `Passing` whose first part is read before the headers are sent."""

    def __init__(self, answer: Streamed) -> None:
        super().__init__(answer)
        self._first, self._cut = b"", ""

    async def begin(self) -> bytes:
        """The first part; b"" if there is none, or none within `SOON` seconds."""
        try:
            async with asyncio.timeout(SOON):
                self._first = await anext(self._answer, b"")
        except CallError as error:
            self._cut = str(error)
        except TimeoutError:
            pass
        return self._first

    async def __anext__(self) -> bytes:
        """The next part, at first the one that `begin` has read. Raises Aborted if the answer is cut."""
        if self._cut:
            raise Aborted(self._cut)
        if self._first:
            first, self._first = self._first, b""
            return first
        return await super().__anext__()


class ForwardedTunnel:
    """A tunnel between a client and another server."""

    def __init__(self, answer: Streamed) -> None:
        self._answer = answer

    async def run(self, client: End) -> None:
        """Carries bytes until either side ends, or nothing has moved for `IDLE` seconds."""
        await join(client, FarEnd(self._answer), IDLE)

    async def aclose(self) -> None:
        """Ends the connection to the other server, after all that was written has been sent."""
        self._answer.finish()


class FarEnd:
    """The other server's end of a tunnel."""

    def __init__(self, answer: Streamed) -> None:
        self._answer = answer
        self.write = answer.write

    async def read(self) -> bytes:
        """The next bytes from the server; b"" after its last ones."""
        try:
            return await anext(self._answer, b"")
        except CallError:
            return b""

    async def drain(self) -> None:
        await self._answer.drain()


def passed(answer: Streamed, replaced: Iterable[Header] = ()) -> Response:
    """The response to the client: the answer and its headers. `replaced` headers replace those of the same names."""
    others, bodiless = list(replaced), _BODILESS.get(answer.status)
    body = answer.at_once(_SMALL) if bodiless is None else None
    dropped = [_CONTENT_TYPE, *(name for name, _ in others), *(bodiless or ())]
    if body is not None:
        dropped.append(_CONTENT_LENGTH)
    headers = returned(answer.headers, *dropped) + others
    content_type = answer.first.get(_CONTENT_TYPE, b"") if answer.status != 304 else b""
    return Response(answer.status, Passing(answer) if body is None else body, content_type, headers, encoded=True)


async def upgraded(answer: Streamed) -> Response:
    """The response to a request for an upgrade: a tunnel, or the other server's refusal unchanged.

    Raises StatusError 500 for an answer that is neither.
    """
    if answer.status == SWITCHING:
        headers = [header for header in answer.headers if header[0] != b"content-length"]
        return Response(SWITCHING, b"", b"", headers, tunnel=ForwardedTunnel(answer), encoded=True)
    if answer.status < 400:
        await answer.aclose()
        raise StatusError(500, "", f"invalid upgrade response: status code {answer.status}")
    response = passed(answer)
    response.bare = True
    return response


def upgrade_failed(error: CallError) -> StatusError:
    """The 500 if the request for an upgrade could not be sent to the other server."""
    said = str(error)
    if error.dialling:
        return StatusError(500, "", f"error dialing backend: {said}")
    return StatusError(500, "", "unexpected EOF" if said == "EOF" else said)
