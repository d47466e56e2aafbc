"""portforward over WebSockets (KEP-4006): WebSocket messages carry the bytes of the client's SPDY connection to the
kubelet.
"""

from __future__ import annotations

from gateway.forwarding import headers
from gateway.forwarding.answers import IDLE, FarEnd, passed, passed_on, upgrade_failed
from gateway.http.cycle import SWITCHING
from gateway.http.exchange import TEXT_TYPE, Header, Request, Response
from gateway.http.status import StatusError
from gateway.http.time_slices import next_turn
from gateway.http.tunnel import End, join
from gateway.http.websocket import BINARY, CLOSE, acceptance, frame, is_sound, protocols_of
from gateway.http.websocket_messages import Messages, ProtocolError
from gateway.outbound.client import Client, Streamed
from gateway.outbound.errors import CallError
from gateway.outbound.request import OutboundRequest
from gateway.outbound.target import Target
from gateway.proxies.kubelets import check_accepted
from gateway.proxies.spdy import PROTOCOL

_PREFIX, _SUFFIX = b"SPDY/3.1+", b".k8s.io"
_NO_SNIFF: Header = (b"x-content-type-options", b"nosniff")
_OF_WEBSOCKETS = (b"upgrade", b"x-stream-protocol-version")


def is_wanted(request: Request) -> bool:
    """Whether an upgrade request asks for SPDY in a WebSocket."""
    wanted = any(each.startswith(_PREFIX) and each.endswith(_SUFFIX) for each in protocols_of(request.headers))
    return wanted and request.headers.get(b"upgrade", b"").lower() == b"websocket"


async def session(request: Request, client: Client, target: Target, path: str) -> Response:
    """The answer: a tunnel, or the kubelet's error answer. Raises StatusError 500."""
    spoken = [each.removeprefix(_PREFIX) for each in protocols_of(request.headers) if each.endswith(_SUFFIX)]
    sent = headers.sent(request, upgrade=True)
    sent = [each for each in sent if each[0] not in _OF_WEBSOCKETS and not each[0].startswith(b"sec-websocket-")]
    sent += [(b"upgrade", PROTOCOL.encode()), *((b"x-stream-protocol-version", each) for each in spoken)]
    host = request.headers.get(b"host", b"").decode("latin-1")
    try:
        asked = OutboundRequest("POST", path, sent, authority=host, alone=True)
        answer = await passed_on(client, request, target, asked)
    except CallError as error:
        raise upgrade_failed(error) from None
    await check_accepted(client, target, answer)
    if answer.status != SWITCHING:
        if answer.status < 400:
            await answer.aclose()
            raise StatusError(500, "", f"invalid upgrade response: status code {answer.status}")
        return passed(answer)
    if "upgrade" not in answer.header("connection").lower() or PROTOCOL.lower() not in answer.header("upgrade").lower():
        answer.finish()
        return _refused(500, "unable to upgrade: missing upgrade headers in response")
    if not is_sound(request.headers):
        answer.finish()
        return _refused(400, "Bad Request")
    if request.method != "GET":
        answer.finish()
        return _refused(405, "Method Not Allowed")
    chosen = answer.header("x-stream-protocol-version").strip().encode("latin-1")
    wanted = protocols_of(request.headers)
    protocols = [each for each in wanted if chosen and each == _PREFIX + chosen]
    said = acceptance(request.headers[b"sec-websocket-key"], protocols)
    return Response(SWITCHING, b"", b"", said, tunnel=Carried(answer), encoded=True)


class Carried:
    """A tunnel between a client that sends WebSocket messages and a kubelet that sends bytes."""

    def __init__(self, answer: Streamed) -> None:
        self._answer = answer

    async def run(self, client: End) -> None:
        """Carries bytes until either side ends."""
        await join(_Unpacked(client), FarEnd(self._answer), IDLE)

    async def aclose(self) -> None:
        """Ends the connection to the kubelet."""
        self._answer.finish()


class _Unpacked:
    """The client's end of the tunnel; unpacks the bytes from WebSocket messages, and packs them."""

    def __init__(self, client: End) -> None:
        self._client, self._messages = client, Messages()
        self.drain = client.drain

    async def read(self) -> bytes:
        while True:
            data = b""
            if self._messages.more:
                await next_turn()
            elif not (data := await self._client.read()):
                return b""
            found = []
            try:
                for message in self._messages.feed(data):
                    if message.opcode == CLOSE:
                        self._client.write(frame(CLOSE, message.payload))
                        return b""
                    found.append(message.payload)
            except ProtocolError:
                return b""
            if self._messages.answers:
                self._client.write(self._messages.answers)
                self._messages.answers = b""
                await self._client.drain()  # back-pressure: wait for a client that does not read
            if content := b"".join(found):
                return content

    def write(self, data: bytes) -> None:
        self._client.write(frame(BINARY, data))


def _refused(status: int, text: str) -> Response:
    return Response(status, f"{text}\n".encode(), TEXT_TYPE, [_NO_SNIFF], encoded=True)
