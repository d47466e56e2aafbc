"""exec and attach over WebSockets of version 5 (KEP-4006). Each channel of the WebSocket is a SPDY stream.

A message begins with the number of its channel. Channels 0, 1 and 2 are the standard streams, 3 has the outcome as a
Status, and 4 the sizes of the terminal. A message of 255 and a number closes that channel.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Mapping

from gateway.forwarding.answers import FarEnd, passed_on
from gateway.http.cycle import SWITCHING
from gateway.http.exchange import Request, Response
from gateway.http.status import StatusError
from gateway.http.time_slices import next_turn
from gateway.http.tunnel import End
from gateway.http.websocket import BINARY, CLOSE, acceptance, frame, is_sound, protocols_of
from gateway.http.websocket_messages import Messages, ProtocolError
from gateway.outbound.client import Client, Streamed
from gateway.outbound.errors import CallError
from gateway.outbound.request import Header, OutboundRequest
from gateway.proxies import spdy
from gateway.proxies.kubelets import Kubelet
from gateway.proxies.outcomes import SUCCESS, in_words_of, internal, outcome_of, status_of_refusal

VERSION_5 = b"v5.channel.k8s.io"
IDLE = 4 * 3600.0  # seconds without anything from the client
PARTING = 900.0  # seconds for a client to read the rest of the output, after the command has ended
_STDIN, _STDOUT, _STDERR, _ERROR, _RESIZE, _DONE = 0, 1, 2, 3, 4, 255
_TYPES = {_ERROR: "error", _STDIN: "stdin", _STDOUT: "stdout", _STDERR: "stderr", _RESIZE: "resize"}
_SPOKEN = tuple(f"{version}channel.k8s.io" for version in ("v5.", "v4.", "v3.", "v2.", ""))
_IN_WORDS = frozenset(_SPOKEN[2:])  # the versions whose error stream has a text, not a Status
_AGENT: Header = (b"user-agent", b"Go-http-client/1.1")
_MOST_SAID = 64 << 10  # bytes that are read of an outcome or an error answer
_NORMAL = struct.pack(">H", 1000)


def is_wanted(request: Request) -> bool:
    """Whether an upgrade request asks for a WebSocket of version 5."""
    return request.headers.get(b"upgrade", b"").lower() == b"websocket" and VERSION_5 in protocols_of(request.headers)


def session(request: Request, client: Client, kubelet: Kubelet, path: str, options: Mapping[str, object]) -> Response:
    """The answer: a tunnel, which connects to the kubelet after the handshake; 400 or 405 for a bad handshake."""
    if request.method != "GET":
        return Response(405, b"bad method", b"", encoded=True, bare=True)
    if not is_sound(request.headers):
        known = request.headers.get(b"sec-websocket-version") == b"13"
        why = b"mismatch challenge/response" if known else b"missing or bad WebSocket Version"
        return Response(400, why, b"", encoded=True, bare=True)
    said = acceptance(request.headers[b"sec-websocket-key"], [VERSION_5])
    return Response(SWITCHING, b"", b"", said, tunnel=Channels(request, client, kubelet, path, options), encoded=True)


class Channels:
    """A tunnel of channels. `options` says which streams are wanted: stdin, stdout, stderr, tty."""

    def __init__(
        self, request: Request, client: Client, kubelet: Kubelet, path: str, options: Mapping[str, object]
    ) -> None:
        self._request, self._client, self._kubelet, self._path = request, client, kubelet, path
        self._tty = bool(options.get("tty"))
        wanted = [_ERROR, *(each for each in (_STDIN, _STDOUT, _STDERR) if options.get(_TYPES[each]))]
        if self._tty:
            wanted = [each for each in wanted if each != _STDERR] + [_RESIZE]
        self._wanted = wanted
        self._answer: Streamed | None = None

    async def run(self, client: End) -> None:
        """Carries the streams until the command ends or the client disconnects; then sends the outcome."""
        first = next((each for each in (_STDOUT, _STDERR) if each in self._wanted), _ERROR)
        client.write(_message(first, b""))
        try:
            self._answer = await self._asked()
        except StatusError as error:
            outcome = error.body()
        except CallError as error:
            why = "unexpected EOF" if str(error) == "EOF" else str(error)
            outcome = internal(f'error sending request: Post "{self._kubelet.url}{self._path}": {why}')
        else:
            if self._answer.status == SWITCHING:
                found = await self._carried(client, self._answer)
                if found is None:
                    return  # the client has gone
                outcome = found
            else:
                outcome = status_of_refusal(self._answer.status, await self._said(self._answer))
        client.write(_message(_ERROR, outcome) + frame(CLOSE, _NORMAL))
        try:
            async with asyncio.timeout(PARTING):
                await client.drain()
                while await client.read():
                    pass
        except TimeoutError:
            return

    async def aclose(self) -> None:
        """Closes the connection to the kubelet."""
        if self._answer is not None:
            if self._answer.status == SWITCHING:
                self._answer.finish()
            await self._answer.aclose()

    async def _asked(self) -> Streamed:
        headers: list[Header] = [(b"connection", b"Upgrade"), (b"upgrade", spdy.PROTOCOL.encode()), _AGENT]
        headers += [(b"x-stream-protocol-version", each.encode()) for each in _SPOKEN]
        asked = OutboundRequest("POST", self._path, headers, alone=True)
        return await passed_on(self._client, self._request, self._kubelet.target, asked)

    async def _said(self, answer: Streamed) -> bytes:
        try:
            return await answer.whole(_MOST_SAID)
        except CallError:
            return b""

    async def _carried(self, client: End, answer: Streamed) -> bytes | None:
        """Carries the streams; returns the outcome, None if the client has disconnected."""
        session, far = spdy.Session(), FarEnd(answer)
        numbers: dict[int, int] = {}  # channel -> stream
        for channel in self._wanted:
            numbers[channel], said = session.open({"streamtype": _TYPES[channel]})
            far.write(said)
        coming = asyncio.ensure_future(self._coming(client, far, session, numbers))
        in_words = answer.header("x-stream-protocol-version").strip() in _IN_WORDS
        going = asyncio.ensure_future(self._going(client, far, session, numbers, in_words))
        try:
            await asyncio.wait((coming, going), timeout=None, return_when=asyncio.FIRST_COMPLETED)
            return going.result() if going.done() else None
        finally:
            for task in (coming, going):
                task.cancel()
            await asyncio.gather(coming, going, return_exceptions=True)

    async def _coming(self, client: End, far: FarEnd, session: spdy.Session, numbers: Mapping[int, int]) -> None:
        """Carries data from the client to the kubelet, until the client disconnects or breaks the protocol."""
        messages, done = Messages(), set[int]()
        while True:
            if messages.more:
                await next_turn()
                data = b""
            else:
                try:
                    async with asyncio.timeout(IDLE):
                        data = await client.read()
                except TimeoutError:
                    return
                if not data:
                    return
            try:
                taken = _taken(messages, data, session, numbers, done)
            except ProtocolError:
                return
            if taken is None:
                return
            if taken:
                far.write(taken)
            if messages.answers:
                client.write(messages.answers)
                messages.answers = b""
                await client.drain()  # back-pressure: wait for a client that does not read
            await far.drain()

    async def _going(
        self, client: End, far: FarEnd, session: spdy.Session, numbers: Mapping[int, int], in_words: bool
    ) -> bytes:
        """Carries data from the kubelet to the client, until all its streams have ended; returns the outcome."""
        ended = in_words_of if in_words else outcome_of
        heard = _Heard(numbers, session)
        while heard.open:
            if session.more:
                await next_turn()
                data = b""
            elif not (data := await far.read()):
                return ended(bytes(heard.outcome)) if heard.outcome else internal("unexpected EOF")
            try:
                to_client, to_kubelet = heard.take(data)
            except spdy.Broken as error:
                return internal(str(error))
            if to_client:
                client.write(to_client)
            if to_kubelet:
                far.write(to_kubelet)
                await far.drain()  # back-pressure: wait for a kubelet that does not read
            await client.drain()
        return ended(bytes(heard.outcome)) if heard.outcome else SUCCESS


def _taken(
    messages: Messages, data: bytes, session: spdy.Session, numbers: Mapping[int, int], done: set[int]
) -> bytes | None:
    """The bytes for the kubelet from a client's messages; None after a close message. Raises ProtocolError.

    `done` has the channels that the client has closed; this function adds to it.
    """
    found = []
    for message in messages.feed(data):
        if message.opcode == CLOSE:
            return None
        channel, content = (message.payload[0], message.payload[1:]) if message.payload else (_DONE, b"")
        last = channel == _DONE
        if last:
            channel, content = content[0] if content else _DONE, b""
        if channel not in (_STDIN, _RESIZE) or channel not in numbers or channel in done:
            continue
        if last:
            done.add(channel)
        if last or content:
            found.append(session.data(numbers[channel], content, last=last))
    return b"".join(found)


class _Heard:
    """The kubelet's side of the streams. `open` has the streams that the kubelet has not ended, `outcome` the content
    of the error stream.
    """

    def __init__(self, numbers: Mapping[int, int], session: spdy.Session) -> None:
        self._session, self._channels = session, {number: channel for channel, number in numbers.items()}
        self.open = {numbers[each] for each in (_ERROR, _STDOUT, _STDERR) if each in numbers}
        self.outcome = bytearray()
        self._begun = set[int]()  # streams on which the kubelet has sent something

    def take(self, data: bytes) -> tuple[bytes, bytes]:
        """Takes bytes from the kubelet; returns the bytes for the client and those for the kubelet. Raises Broken."""
        to_client, to_kubelet = [], []
        for found in self._session.feed(data):
            if found.kind == spdy.PING:
                to_kubelet.append(self._session.pong(found))
                continue
            if found.kind == spdy.SYN_STREAM:
                to_kubelet.append(self._session.refusal(found))
                continue
            channel = self._channels.get(found.stream)
            if channel is None:
                continue
            if found.kind == spdy.RST_STREAM and found.stream not in self._begun:
                raise spdy.Broken("Stream reset")
            self._begun.add(found.stream)
            if found.kind == spdy.DATA and channel == _ERROR:
                self.outcome += found.data[: _MOST_SAID - len(self.outcome)]
            elif found.kind == spdy.DATA and found.data:
                to_client.append(_message(channel, found.data))
            if found.last or found.kind == spdy.RST_STREAM:
                self.open.discard(found.stream)
        return b"".join(to_client), b"".join(to_kubelet)


def _message(channel: int, data: bytes) -> bytes:
    return frame(BINARY, bytes((channel,)) + data)
