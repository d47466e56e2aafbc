"""Every watch gets each event once and in order, for all selectors and encodings, wherever its streams end."""

from __future__ import annotations

import asyncio
import random
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from itertools import count, cycle
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from apiserver_gateway.testing import ApiServer
from storage.embedded import EmbeddedEtcd
from storage.etcd import EtcdClient, EtcdSettings
from tests.integration.customresources.definitions import DEFINITIONS, MERGE, definition, establish
from tests.integration.reads.witness import CBOR, PROTOBUF, Selection, Truth, Watcher, Work, check, session, state
from tests.integration.server.client import ask

WORK = 4.0  # seconds
PATIENCE = 200.0  # seconds until all know everything, on a busy machine too: most of it is the watchers' own work
ENOUGH = 5  # changes of a definition
QUIET = 0.9  # seconds of a pause without writes: longer than between two bookmarks
WRITERS = 3
CROWD = 55  # more watchers of one selection than are woken one by one
GROUP = "watched.example"
OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
MAPS, WIDGETS = "configmaps", f"{GROUP}/widgets"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

SERVE = """
import sys
from gateway.reading import open_watch
from storage import history
from gateway.commands.cli import main

open_watch.BOOKMARK_INTERVAL, open_watch.BOOKMARK_BEFORE_END = 0.4, 0.2
if {forgetful}:
    history.YOUNG, history.History.__init__.__defaults__ = 0.0, (10, 1 << 24)
sys.exit(main(sys.argv[1:]))
"""


class Hasty(ApiServer):
    """A server with short times between bookmarks. With a short history it must read etcd's."""

    forgetful = False

    def _command(self, control: int) -> list[str]:
        words = super()._command(control)
        return [sys.executable, "-c", SERVE.format(forgetful=self.forgetful), *words[words.index("serve") :]]


SELECTIONS = [
    Selection(MAPS),
    Selection(MAPS, "a"),
    Selection(MAPS, "", "labelSelector=app%3Dweb", lambda _, __, labels: labels.get("app") == "web"),
    Selection(MAPS, "a", "labelSelector=app%3Dweb", lambda _, __, labels: labels.get("app") == "web"),
    Selection(MAPS, "", "labelSelector=app+in+(web,db)", lambda _, __, labels: labels.get("app") in ("web", "db")),
    Selection(MAPS, "", "fieldSelector=metadata.name%3Dn1", lambda _, name, __: name == "n1"),
    Selection(MAPS, "", "fieldSelector=metadata.namespace%3Da", lambda namespace, _, __: namespace == "a"),
    Selection(MAPS, "a", "fieldSelector=metadata.name%3Dn1", lambda _, name, __: name == "n1"),
    Selection(WIDGETS),
    Selection(WIDGETS, "b"),
    Selection(WIDGETS, "", "labelSelector=app%3Dweb", lambda _, __, labels: labels.get("app") == "web"),
    Selection(WIDGETS, "", "fieldSelector=metadata.namespace%3Db", lambda namespace, _, __: namespace == "b"),
]


def watchers() -> Iterator[Watcher]:
    """The watchers, of every kind."""
    forms = {MAPS: cycle(("application/json", TABLE, PROTOBUF + ";stream=watch", PARTIAL, CBOR))}
    forms[WIDGETS] = cycle(("application/json", CBOR, TABLE, PARTIAL))
    for selection in SELECTIONS:
        for options in (
            {},
            {"seconds": 2},
            {"seconds": 1, "bookmarks": False},
            {"initial": True, "seconds": 2},
            {"initial": True, "cut": 1.3},
            {"cut": 0.7},
        ):
            yield Watcher(selection, next(forms[selection.resource]), **options)
        yield Watcher(selection)
        yield Watcher(selection, websocket=True, seconds=3)
    for index in (0, 2):
        yield from (Watcher(SELECTIONS[index]) for _ in range(CROWD))


def slow_ones() -> Iterator[Watcher]:
    """Watchers that cannot keep up while there are writes."""
    for index in (0, 1, 2, 8):
        yield Watcher(SELECTIONS[index], pause=0.2)
        yield Watcher(SELECTIONS[index], pause=0.2, seconds=2)


@pytest.fixture(scope="module", params=[False, True], ids=["remembering", "forgetful"])
def server(request: pytest.FixtureRequest) -> Iterator[ApiServer]:
    flags = ("--etcd-compaction-interval=0", "--controllers=-*", "--feature-gates=CBORServingAndStorage=true")
    with EmbeddedEtcd() as etcd, tempfile.TemporaryDirectory() as directory:
        one = Hasty(Path(directory), flags, etcd.endpoint)
        one.forgetful = request.param
        one.start()
        for name in "ab":
            assert ask(one, "POST", "/api/v1/namespaces", {"metadata": {"name": name}}).status == 201
        establish(one, definition(GROUP))
        yield one
        one.stop()


class Writer:
    """Creates, changes and deletes a few objects over and over."""

    def __init__(self, http: aiohttp.ClientSession, server: ApiServer, seed: int) -> None:
        self._http, self._server, self._random = http, server, random.Random(seed)

    async def run(self, often: asyncio.Event | None) -> None:
        """Writes while the work lasts, in bursts with pauses, and until `often` is set."""
        loop = asyncio.get_running_loop()
        end = loop.time() + WORK
        while loop.time() < end or not (often is None or often.is_set()):
            burst = loop.time() + self._random.uniform(0.2, 1.0)
            while loop.time() < burst:
                await self.write()
                await asyncio.sleep(self._random.choice((0, 0, 0.01, 0.05)))
            await asyncio.sleep(QUIET)

    async def write(self) -> int:
        """One write. Returns the object's resourceVersion, 0 if there was nothing to do."""
        chosen = self._random
        resource, namespace = chosen.choice((MAPS, WIDGETS)), chosen.choice("ab")
        path, name = Selection(resource, namespace).path, f"n{chosen.randrange(4)}"
        body: dict[str, Any] = {"metadata": {"name": name, "labels": {"app": chosen.choice(("web", "db", "none"))}}}
        filler = "x" * chosen.choice((10, 100, 6000))
        if resource == MAPS:
            body |= {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "data": {"number": str(chosen.random()), "filler": filler},
            }
        else:
            spec = {"number": str(chosen.random()), "filler": filler}
            body |= {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "spec": spec}
        match chosen.choice(("POST", "PATCH", "PATCH", "DELETE")):
            case "POST":
                return await self._ask("POST", path, json=body)
            case "PATCH":
                content = {"Content-Type": "application/merge-patch+json"}
                return await self._ask("PATCH", f"{path}/{name}", json=body, headers=content)
        return await self._ask("DELETE", f"{path}/{name}")

    async def _ask(self, method: str, path: str, **options: Any) -> int:
        async with self._http.request(method, self._server.url + path, **options) as answer:
            body = await answer.json()
            assert answer.status in (200, 201, 404, 409), body
            return int(body["metadata"].get("resourceVersion", 0)) if answer.status < 300 else 0


async def work_under(
    watching: list[Watcher], slow: list[Watcher], server: ApiServer, often: asyncio.Event | None = None
) -> Work:
    """Runs all watchers while the writers write, until all watchers know the last write."""
    async with session(server) as http, session(server, socket_factory=_narrow) as narrow:
        writers = [Writer(http, server, seed) for seed in range(WRITERS)]
        work = Work(int(ask(server, "GET", "/api/v1/configmaps").json["metadata"]["resourceVersion"]))
        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
            for watcher in watching:
                group.create_task(watcher.run(http, server, work))
            for watcher in slow:
                group.create_task(watcher.run(narrow, server, work))
            async with asyncio.TaskGroup() as writing:
                for writer in writers:
                    writing.create_task(writer.run(often))
            # a patch without a change, or a deletion, does not tell the last revision
            written = int(ask(server, "GET", "/api/v1/configmaps").json["metadata"]["resourceVersion"])
            while (final := await writers[0].write()) <= written:
                pass
            truth = await history(server, final)
            told = {each: truth.events(each) for each in {one.selection for one in watching + slow}}
            work.last = {each: events[-1].revision if events else 0 for each, events in told.items()}
            work.final = final
    return work


async def history(server: ApiServer, upto: int) -> Truth:
    """All events up to a revision, which must be that of a change."""
    truth = Truth()
    async with EtcdClient(EtcdSettings((server.etcd_endpoint,), timeout=PATIENCE)) as client:
        await truth.read(client, upto)
    return truth


def _narrow(address: Any) -> socket.socket:
    """Gives a socket small buffers, so that few unread bytes fit."""
    made = socket.socket(address[0], address[1], address[2])
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    return made


async def test_every_watch_tells_each_event_once_and_in_order(server: ApiServer) -> None:
    watching, slow = list(watchers()), list(slow_ones())
    work = await work_under(watching, slow, server)
    lists = [ask(server, "GET", f"{selection.path}?{selection.query}").json for selection in SELECTIONS]
    # The server may write between the last write and the lists: each list is compared with the history up to its
    # revision.
    last = ask(server, "POST", "/api/v1/namespaces/a/secrets", {"metadata": {"generateName": "last-"}})
    truth = await history(server, int(last.json["metadata"]["resourceVersion"]))
    for selection, listed in zip(SELECTIONS, lists, strict=True):
        events, revision = truth.events(selection), int(listed["metadata"]["resourceVersion"])
        metadata = [each["metadata"] for each in listed["items"]]
        there = {f"{each['namespace']}/{each['name']}": int(each["resourceVersion"]) for each in metadata}
        assert revision >= work.final, "the list is older than the last write"
        was = state(events, revision)
        assert there == was, f"the list of {selection} at {revision} is not what etcd's history says: {there}, {was}"
        for watcher in (one for one in watching + slow if one.selection is selection):
            assert check(watcher.log, events, work.final) == state(events, work.final), watcher


async def test_no_event_is_lost_when_a_definition_changes(server: ApiServer) -> None:
    """Changes of a CRD may end watches or not. Watches begin with the present state, since some must start again."""
    selections = SELECTIONS[8:]
    watching = [
        Watcher(selection, initial=True, seconds=seconds) for selection in selections for seconds in (0, 0, 1, 2)
    ]
    stop = asyncio.Event()
    often = asyncio.Event()  # writers continue until the CRD was changed often enough
    changing = asyncio.create_task(change_definition(server, stop, often))
    work = await work_under(watching, [], server, often)
    stop.set()
    await changing
    truth = await history(server, work.final)
    for selection in selections:
        events = truth.events(selection)
        for watcher in (one for one in watching if one.selection is selection):
            assert check(watcher.log, events, work.final) == state(events, work.final), watcher


async def change_definition(server: ApiServer, stop: asyncio.Event, often: asyncio.Event) -> None:
    """Changes the CRD of the widgets over and over: how its objects are read, or its other fields."""
    place, version = f"{DEFINITIONS}/widgets.{GROUP}", definition(GROUP)["spec"]["versions"][0]
    for number in count():
        schema = version["schema"]["openAPIV3Schema"]
        schema["description" if number % 3 else "properties"] = (
            str(number) if number % 3 else {"spec": OPEN, f"number{number}": {"type": "string"}}
        )
        body = {"spec": {"versions": [version]}}
        answer = await asyncio.to_thread(ask, server, "PATCH", place, body, headers=MERGE)
        assert answer.status == 200, answer.body
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), 0.2 + number % 4 * 0.4)
            break
        if number == ENOUGH:
            often.set()
