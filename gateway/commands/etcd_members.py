"""Requests to single members of an etcd over HTTP: /members (as members use it), /health, and etcd's JSON gateway.

The etcd client is not used: these requests go to one member, or are sent before a cluster exists.
"""

from __future__ import annotations

import http.client
import socket
import ssl
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from gateway.jsontypes import dumps
from gateway.schema.errors import DecodeError
from gateway.schema.outside import read_json

LARGEST = 1 << 20  # the most bytes of an answer, or of a line of a stream
SECONDS = 5.0  # the default time limit for an answer
_OK = 200
_UNREACHABLE = OSError, http.client.HTTPException, UnicodeError  # the last is for names that IDNA does not have


class Silent(Exception):
    """A member does not answer; the message has its URL and the reason."""


class MemberRefusal(Exception):
    """A member answered with an error, or with an answer that is not etcd's; the message has the answer."""


@dataclass(frozen=True, slots=True)
class EtcdMember:
    """A member as the others know it. A member that has never started has no client URLs; if it was added at runtime,
    it has no name either.
    """

    number: int
    name: str
    peer_urls: tuple[str, ...]
    client_urls: tuple[str, ...]


class MemberClient:
    """Sends requests to members, with a client certificate if there is one. The constructor raises OSError, including
    ssl.SSLError, for files that cannot be used.
    """

    def __init__(self, ca_file: Path | None, cert_file: Path | None, key_file: Path | None) -> None:
        self._context = ssl.create_default_context(cafile=str(ca_file) if ca_file else None)
        if cert_file and key_file:
            self._context.load_cert_chain(cert_file, key_file)

    def known(self, peer_url: str) -> list[EtcdMember]:
        """The members that the member at a peer URL knows. This needs no leader. Raises Silent and Refusal."""
        return _members(self._whole("GET", peer_url, "/members"), ("id", "peerURLs", "clientURLs"), peer_url)

    def agreed(self, url: str) -> list[EtcdMember]:
        """The members by a linearizable read, through the member at a client URL. Raises Silent and Refusal."""
        return self._cluster(url, "list", b'{"linearizable":true}')

    def remove(self, url: str, member: EtcdMember) -> None:
        """Removes a member. Raises Silent and Refusal."""
        self._cluster(url, "remove", b'{"ID":"%d"}' % member.number)

    def add(self, url: str, peer_url: str) -> list[EtcdMember]:
        """Adds a member; returns all members. Raises Silent, and Refusal, also if etcd refuses the URL."""
        return self._cluster(url, "add", dumps({"peerURLs": [peer_url]}))

    def is_healthy(self, url: str) -> bool:
        """Whether the member at a client URL has a leader and can do linearizable reads (/health)."""
        try:
            found = self._whole("GET", url, "/health")
        except (Silent, MemberRefusal):
            return False
        return isinstance(found, dict) and found.get("health") == "true"

    def defragment(self, url: str, seconds: float) -> None:
        """Defragments the member at a client URL. Raises Silent and Refusal."""
        self._whole("POST", url, "/v3/maintenance/defragment", b"{}", seconds)

    def snapshot(self, url: str, seconds: float) -> Iterator[Any]:
        """The messages of a snapshot from the member at a client URL; the time limit of each is `seconds`.

        Raises Silent and Refusal.
        """
        connection = self._connection(url, seconds)
        try:
            answer = _sent(connection, url, "POST", "/v3/maintenance/snapshot", b"{}")
            while line := answer.readline(LARGEST + 1):
                yield _read(line, url)
        except _UNREACHABLE as error:
            raise _silent(url, error) from None
        finally:
            connection.close()

    def _cluster(self, url: str, what: str, body: bytes) -> list[EtcdMember]:
        found = self._whole("POST", url, f"/v3/cluster/member/{what}", body)
        members = found.get("members", []) if isinstance(found, dict) else None
        return _members(members, ("ID", "peerURLs", "clientURLs"), url)

    def _whole(self, method: str, url: str, path: str, body: bytes = b"", seconds: float = SECONDS) -> Any:
        connection = self._connection(url, seconds)
        try:
            return _read(_sent(connection, url, method, path, body).read(LARGEST + 1), url)
        except _UNREACHABLE as error:
            raise _silent(url, error) from None
        finally:
            connection.close()

    def _connection(self, url: str, seconds: float) -> http.client.HTTPConnection:
        if url.startswith("unix:"):
            return _SocketConnection(url.removeprefix("unix:").removeprefix("//"), timeout=seconds)
        try:
            parts = urlsplit(url)
            scheme, host, port = parts.scheme, parts.hostname, parts.port
        except ValueError:  # unbalanced brackets, or a port that is not a port number
            scheme, host, port = "", None, None
        if scheme not in ("http", "https") or not host:
            raise Silent(f"{url} is not a URL with http, https or unix")
        if scheme == "https":
            return http.client.HTTPSConnection(host, port, timeout=seconds, context=self._context)
        return http.client.HTTPConnection(host, port, timeout=seconds)


class _SocketConnection(http.client.HTTPConnection):
    """HTTP over a unix socket; takes the path of the socket instead of a host."""

    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def quorum(members: Iterable[EtcdMember]) -> int:
    """The number of members that are a majority."""
    return len(list(members)) // 2 + 1


def _sent(
    connection: http.client.HTTPConnection, url: str, method: str, path: str, body: bytes
) -> http.client.HTTPResponse:
    connection.request(method, path, body or None, {"Content-Type": "application/json"} if body else {})
    answer = connection.getresponse()
    if answer.status != _OK:
        raise MemberRefusal(f"{url} answers {answer.status}: {answer.read(1000).decode(errors='replace').strip()}")
    return answer


def _read(data: bytes, url: str) -> Any:
    try:
        return read_json(data, LARGEST)
    except DecodeError as error:
        raise MemberRefusal(_unlike_etcd(url, f"its answer is not valid JSON: {error}")) from None


def _unlike_etcd(url: str, found: str) -> str:
    return f"{url} does not answer like etcd: {found}; check that this is the URL of an etcd member, not of a proxy"


def _silent(url: str, error: Exception) -> Silent:
    return Silent(f"{url} does not answer ({getattr(error, 'strerror', None) or error or type(error).__name__})")


def _members(found: Any, keys: tuple[str, str, str], url: str) -> list[EtcdMember]:
    """Reads the members of an answer from `url`. `keys` are the JSON keys of ID, peer URLs and client URLs, as
    /members and the JSON gateway spell them differently. Raises Refusal.
    """
    number, peers, clients = keys
    try:
        members = [
            EtcdMember(int(each[number]), str(each.get("name", "")), _texts(each, peers), _texts(each, clients))
            for each in found
        ]
    except (TypeError, KeyError, ValueError, AttributeError):
        raise MemberRefusal(_unlike_etcd(url, "its answer has no list of members")) from None
    if not all(member.peer_urls for member in members):
        raise MemberRefusal(_unlike_etcd(url, "a member has no peer URL"))
    return members


def _texts(member: Mapping[str, Any], key: str) -> tuple[str, ...]:
    return tuple(map(str, member.get(key) or ()))
