"""Watchers that record their events, and a check of these against etcd's own history."""

from __future__ import annotations

import asyncio
import json
import ssl
from bisect import bisect_right
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from io import BytesIO
from itertools import count
from typing import Any, NamedTuple

import aiohttp
import cbor2
import orjson

from apiserver_gateway.testing import ApiServer
from gateway.encodings.cbor import decode
from storage.etcd import PUT, EtcdClient

INITIAL_END = "k8s.io/initial-events-end"
PROTOBUF, CBOR = "application/vnd.kubernetes.protobuf", "application/cbor"


class Note(NamedTuple):
    """One record of a watcher: an event type, FROM (a stream begins after a revision), STATE (a stream begins with the
    present state) or SYNCED (that state ends); the object as "namespace/name"; its resourceVersion.
    """

    type: str
    object: str
    revision: int


@dataclass(frozen=True, slots=True)
class Selection:
    """The selection of a watch: a resource, one namespace or all, and a query that selects the objects that `matches`
    accepts.
    """

    resource: str  # as in the path and in etcd: group/resource
    namespace: str = ""
    query: str = ""
    matches: Callable[[str, str, Mapping[str, str]], bool] = lambda namespace, name, labels: True

    @property
    def path(self) -> str:
        group, _, plural = self.resource.rpartition("/")
        base = f"/apis/{group}/v1" if group else "/api/v1"
        return f"{base}/namespaces/{self.namespace}/{plural}" if self.namespace else f"{base}/{plural}"

    def takes(self, key: str, labels: Mapping[str, str] | None) -> bool:
        """Whether it selects an object by "namespace/name" and labels; labels are None for an object that does not
        exist.
        """
        namespace, _, name = key.partition("/")
        return labels is not None and self.namespace in ("", namespace) and self.matches(namespace, name, labels)


class Truth:
    """All changes of the objects in an etcd, in order."""

    def __init__(self) -> None:
        self._changes: list[tuple[int, str, str, dict[str, str] | None]] = []  # revision, resource, object, labels

    async def read(self, client: EtcdClient, upto: int) -> None:
        """Reads all changes up to a revision, which must be that of a change."""
        watch = client.watch(b"/registry/", b"/registry0", start_revision=1, own_stream=True)
        await watch.start()
        async for batch in watch:
            for event in batch.events:
                resource, namespace, name = event.kv.key.decode().removeprefix("/registry").rsplit("/", 2)
                value = json.loads(event.kv.value) if event.type == PUT else None
                labels = None if value is None else dict(value.get("metadata", {}).get("labels") or {})
                self._changes.append((event.kv.mod_revision, resource[1:], f"{namespace}/{name}", labels))
            if batch.revision >= upto:
                break
        await watch.cancel()

    def events(self, selection: Selection) -> list[Note]:
        """The events that a watch of everything must get."""
        found: list[Note] = []
        before: set[str] = set()
        for revision, resource, key, labels in self._changes:
            if resource != selection.resource:
                continue
            takes = selection.takes(key, labels)
            if takes or key in before:
                type_ = "DELETED" if not takes else "MODIFIED" if key in before else "ADDED"
                found.append(Note(type_, key, revision))
            (before.add if takes else before.discard)(key)
        return found


def state(events: list[Note], revision: int) -> dict[str, int]:
    """The objects that exist at a revision, each with its own revision."""
    found: dict[str, int] = {}
    for event in events:
        if event.revision <= revision:
            found.pop(event.object, None)
            if event.type != "DELETED":
                found[event.object] = event.revision
    return found


def check(log: list[Note], events: list[Note], final: int) -> dict[str, int]:
    """Checks that each event came once and in order, and that none is missing up to a revision. Returns the final
    state.

    `events` are the expected ones. Raises AssertionError, which names the first difference.
    """
    revisions, at = [event.revision for event in events], -1
    initial: dict[str, int] | None = None
    built = state(events, log[0].revision)
    for number, note in enumerate(log):
        where = f"{number}: {log[max(0, number - 4) : number + 1]}"
        match note.type:
            case "FROM":
                at, initial = note.revision, None
            case "STATE":
                initial = {}
            case "SYNCED":
                assert initial == state(events, note.revision), where
                at, built, initial = note.revision, dict(initial or {}), None
            case "BOOKMARK":
                assert note.revision >= at, f"back in time, {where}"
                missed = events[bisect_right(revisions, at) : bisect_right(revisions, note.revision)]
                assert not missed, f"not told: {missed}, {where}"
                at = note.revision
            case _ if initial is not None:
                assert note.type == "ADDED" and note.object not in initial, where
                initial[note.object] = note.revision
            case _:
                index = bisect_right(revisions, at)
                assert index < len(events) and events[index] == note, f"to come: {events[index : index + 1]}, {where}"
                at = note.revision
                built.pop(note.object, None)
                if note.type != "DELETED":
                    built[note.object] = note.revision
    missed = events[bisect_right(revisions, at) : bisect_right(revisions, final)]
    assert not missed, f"never told: {missed}; the last were {log[-3:]}"
    return built


@dataclass(slots=True)
class Watcher:
    """A watch client that resumes where its stream ended, until it knows the final revision."""

    selection: Selection
    accept: str = "application/json"
    seconds: int = 0  # the timeoutSeconds of a stream; 0: the server chooses
    bookmarks: bool = True
    initial: bool = False  # whether each stream begins with the present state
    websocket: bool = False
    cut: float = 0.0  # seconds after which the client closes the stream
    pause: float = 0.0  # seconds between two reads while there are writes
    log: list[Note] = field(default_factory=list)
    at: int = 0
    streams: int = 0

    async def run(self, http: aiohttp.ClientSession, server: ApiServer, work: Work) -> Watcher:
        """Watches from the start of the writes until it knows all of them."""
        self.at = work.start
        for _ in count():
            with suppress(TimeoutError):
                async with asyncio.timeout(self.cut or None):
                    await self._stream(http, server, work)
            self.streams += 1
            if work.final and self.at >= work.last[self.selection]:
                break  # a stream that does not get the last revision: its selection did not change then
        return self

    def _query(self) -> str:
        words = ["watch=1", self.selection.query]
        words += [f"timeoutSeconds={self.seconds}"] * bool(self.seconds) + ["allowWatchBookmarks=true"] * self.bookmarks
        words.append("sendInitialEvents=true&resourceVersionMatch=NotOlderThan" if self.initial else "")
        words.append("" if self.initial else f"resourceVersion={self.at}")
        return "&".join(word for word in words if word)

    async def _stream(self, http: aiohttp.ClientSession, server: ApiServer, work: Work) -> None:
        """Reads one stream until it ends by itself or has sent everything."""
        url = f"{server.url}{self.selection.path}?{self._query()}"
        self.log.append(Note("STATE", "", 0) if self.initial else Note("FROM", "", self.at))
        syncing = self.initial
        events = self._messages(http, url) if self.websocket else self._lines(http, url, work)
        async with aclosing(events):
            async for note in events:
                self.log.append(Note("SYNCED", "", note.revision) if syncing and not note.object else note)
                syncing = syncing and bool(note.object)
                self.at = max(self.at, 0 if syncing else note.revision)
                if work.final and self.at >= work.final:
                    return

    async def _messages(self, http: aiohttp.ClientSession, url: str) -> AsyncGenerator[Note]:
        async with http.ws_connect(url, origin="https://example.org") as socket:
            async for message in socket:
                yield _in_json(message.data)

    async def _lines(self, http: aiohttp.ClientSession, url: str, work: Work) -> AsyncGenerator[Note]:
        async with http.get(url, headers={"Accept": self.accept}) as answer:
            assert answer.status == 200, await answer.text()
            cut = _framed if PROTOBUF in self.accept else _items if CBOR in self.accept else _split
            rest = b""
            async for part in answer.content.iter_any():
                if self.pause and not work.final:
                    await asyncio.sleep(self.pause)
                rest, notes = cut(rest + part)
                for note in notes:
                    yield note
            assert not rest, "cut within an event"


@dataclass(slots=True)
class Work:
    """The writes that the watchers see: they begin after the revision `start`, and end with `final` once that is
    not 0.
    """

    start: int
    final: int = 0
    last: Mapping[Selection, int] = field(default_factory=dict)  # the last revision that a watch of it has to tell


def session(server: ApiServer, **options: Any) -> aiohttp.ClientSession:
    """A client session without a limit of connections."""
    context = ssl.create_default_context(cafile=str(server.ca_file))
    connector = aiohttp.TCPConnector(ssl=context, limit=0, **options)
    timeout = aiohttp.ClientTimeout(total=None)
    headers = {"Authorization": f"Bearer {server.token}"}
    return aiohttp.ClientSession(headers=headers, connector=connector, timeout=timeout, read_bufsize=1 << 14)


def _note(event: Any) -> Note:
    assert event["type"] != "ERROR", event
    what = event["object"]
    rows = what.get("rows") if what["kind"] == "Table" else None
    metadata = rows[0]["object"]["metadata"] if rows and event["type"] != "BOOKMARK" else what["metadata"]
    key = f"{metadata['namespace']}/{metadata['name']}" if event["type"] != "BOOKMARK" else ""
    return Note(event["type"], key, int(metadata["resourceVersion"]))


def _in_json(line: bytes | str) -> Note:
    return _note(orjson.loads(line))


def _split(data: bytes) -> tuple[bytes, list[Note]]:
    *lines, rest = data.split(b"\n")
    return rest, [_in_json(line) for line in lines]


def _items(data: bytes) -> tuple[bytes, list[Note]]:
    source, found, start = BytesIO(data), [], 0
    while start < len(data):
        try:
            cbor2.CBORDecoder(source).decode()
        except cbor2.CBORDecodeEOF:
            break
        found.append(_note(decode(data[start : source.tell()])))
        start = source.tell()
    return data[start:], found


def _framed(data: bytes) -> tuple[bytes, list[Note]]:
    found = []
    while len(data) >= 4 and len(data) >= (end := 4 + int.from_bytes(data[:4], "big")):
        event = dict(_fields(data[4:end]))
        unknown = dict(_fields(dict(_fields(event[2]))[1].removeprefix(b"k8s\x00")))
        metadata = {number: value.decode() for number, value in _fields(dict(_fields(unknown[2]))[1]) if number < 7}
        key = f"{metadata[3]}/{metadata[1]}" if event[1] != b"BOOKMARK" else ""
        assert event[1] != b"ERROR", event
        found.append(Note(event[1].decode(), key, int(metadata[6])))
        data = data[end:]
    return data, found


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """The length-delimited fields of a protobuf message."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        length, at = _varint(message, at)
        if tag & 7 == 2:
            yield tag >> 3, message[at : at + length]
            at += length


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (message[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if message[at - 1] < 128:
            return value, at
