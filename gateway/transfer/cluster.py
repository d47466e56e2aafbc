"""Requests to a Kubernetes API."""

from __future__ import annotations

import asyncio

from gateway.access.remote import RemoteService
from gateway.jsontypes import JsonObject, dumps
from gateway.outbound.client import Client, Reply
from gateway.outbound.errors import CallError
from gateway.outbound.request import OutboundRequest
from gateway.schema.errors import DecodeError
from gateway.schema.outside import parsed_soon, read_trusted

TIMEOUT = 120.0
LARGEST = 1 << 30  # bytes of an answer
ATTEMPTS, PAUSE, LONGEST = 5, 0.5, 10.0
_PASSING = frozenset({429, 503, 504})


class ApiError(Exception):
    """The server answered with an error; the message is the server's."""

    def __init__(self, status: int, reason: str, message: str, body: JsonObject) -> None:
        super().__init__(f"{status} {reason}: {message}" if reason else f"{status}: {message}")
        self.status, self.body = status, body


class Unreachable(Exception):
    """The server could not be reached, or it is not a Kubernetes API; the message says why."""


class RemoteCluster:
    """One server, with a user's credentials. Use it on one event loop."""

    def __init__(self, place: RemoteService) -> None:
        self.place = place
        self._client = Client()
        self._below = place.path.rstrip("/")

    async def ask(
        self, method: str, path: str, body: JsonObject | None = None, content_type: str = "application/json"
    ) -> JsonObject:
        """Makes a request and returns the object of the answer. Retries while the server is busy (429, 503, 504).

        Raises ApiError, Unreachable.
        """
        pause = PAUSE
        for left in reversed(range(ATTEMPTS)):
            answer = await self._call(method, path, b"" if body is None else dumps(body), content_type)
            if answer.status not in _PASSING or not left:
                break
            await asyncio.sleep(_wait(answer, pause))
            pause *= 2
        found = await self._object(answer)
        if answer.status >= 300:
            message = found.get("message") or answer.body[:300].decode("utf-8", "replace").strip()
            raise ApiError(answer.status, str(found.get("reason") or ""), str(message), found)
        return found

    def close(self) -> None:
        self._client.close()

    async def _object(self, answer: Reply) -> JsonObject:
        """The object of an answer; {} for an error whose body is not a JSON object."""
        try:
            found = await parsed_soon(read_trusted, answer.body)
            said = "it is another value"
        except DecodeError as error:
            found, said = None, str(error)
        if isinstance(found, dict):
            return found
        if answer.status < 300:
            raise Unreachable(f"{self.place.url}: the answer is not a JSON object: {said}")
        return {}

    async def _call(self, method: str, path: str, body: bytes, content_type: str) -> Reply:
        try:
            headers = [each for each in self.place.headers() if each[0] not in (b"content-type", b"user-agent")]
            headers += [(b"content-type", content_type.encode()), (b"user-agent", b"apiserver-gateway")]
            asked = OutboundRequest(method, f"{self._below}{path}", headers, body)
            return await self._client.call(self.place.target, asked, TIMEOUT, LARGEST)
        except (CallError, OSError) as error:
            raise Unreachable(f"{self.place.url}: {error}") from None


def _wait(answer: Reply, pause: float) -> float:
    told = answer.header("retry-after")
    return min(LONGEST, float(told) if told.isdecimal() else pause)
