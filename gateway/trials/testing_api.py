"""The testing API, for a server that one test suite has for itself: users, the clock, snapshots, faults, the recorder.

It is served under /testing with --testing-api, to users who may do everything.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from hashlib import sha256
from secrets import token_urlsafe
from typing import Any, Protocol

import orjson

from gateway import clock
from gateway.access.authentication import AudienceAgnostic, Authenticated
from gateway.http.exchange import JSON_TYPE, Request
from gateway.http.send import Send
from gateway.http.status import StatusError, bad_request, service_unavailable
from gateway.http.user import User
from gateway.kinds.registry import Registry
from gateway.release.minors import DEFAULT
from gateway.requests.parts import Gateway
from gateway.trials.faults import FaultRule, FaultTable, UnknownFault
from gateway.trials.recorder import FlightRecorder
from gateway.trials.replay import Replay
from gateway.trials.snapshots import Snapshots, TooManySnapshots, UnknownSnapshot
from storage.common import PartCache
from storage.errors import StorageError

ROOT = "/testing/"
EXPIRING = ("", "events.k8s.io")  # groups with events that expire (--event-ttl)
MOST_USERS = 10_000
LONGEST = 10 * 365 * 24 * 3600.0  # seconds that the clock may be set forward by


class Users:
    """The users that tests have made, by their tokens."""

    def __init__(self) -> None:
        self._users: dict[bytes, User] = {}  # by their tokens' SHA-256

    def make(self, name: str, groups: tuple[str, ...]) -> str:
        """Makes a user and returns its token. If there are MOST_USERS users, the oldest is removed."""
        token = token_urlsafe(24)
        if len(self._users) >= MOST_USERS:
            del self._users[next(iter(self._users))]
        self._users[sha256(token.encode()).digest()] = User(name, groups)
        return token

    async def authenticate(self, token: str, audiences: Sequence[str]) -> Authenticated | None:
        user = self._users.get(sha256(token.encode("utf-8", "surrogateescape")).digest())
        return None if user is None else Authenticated(user, tuple(audiences))


class Clusters(Protocol):
    """Makes control planes below /clusters."""

    async def make(self, name: str, version: str = "") -> object:
        """Makes one, and returns what its clients need; "" stands for a new name, and for the version of the server.
        Raises StatusError, StorageError.
        """
        ...

    async def delete(self, name: str) -> None:
        """Deletes one. Raises StatusError, StorageError."""
        ...

    async def each(self, act: Callable[[Gateway], Awaitable[None]]) -> None:
        """Does something with the gateway of each one that is in memory. Raises StorageError."""
        ...


class TestingApi:
    """The ASGI application under /testing. It does not use FastAPI, whose import would slow tests down."""

    __test__ = False  # tells pytest that this class is not a test

    def __init__(
        self, gateway: Gateway, recorder: FlightRecorder, clusters: Clusters | None = None, *, has_clock: bool = True
    ) -> None:
        """`clusters` is None without --control-planes. `has_clock` is false for a control plane."""
        self._gateway, self._recorder, self._clusters = gateway, recorder, clusters
        self._has_clock = has_clock
        settings = gateway.settings
        self._snapshots = Snapshots(gateway.store, settings.etcd_prefix, lambda: at_rest(gateway))
        self._playing = Replay(gateway.endpoints, gateway.store)
        self._faults = FaultTable(gateway.interposed, lambda: plurals(gateway.registry))
        self._users = Users()
        authenticator = gateway.services.authenticator
        authenticator.add(AudienceAgnostic(self._users, authenticator.audiences))

    def serves(self, scope: Any) -> bool:
        """Whether a request is one of the testing API."""
        return self._route(scope["method"], scope["path"]) is not None

    async def __call__(self, scope: Any, receive: Any, send: Send) -> None:
        route = self._route(scope["method"], scope["path"])
        assert route is not None, "it serves this"
        code, body = await _answer(route, Request(scope["method"], scope["path"], b"", {}, receive))
        headers = [(b"content-type", JSON_TYPE), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": code, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _route(self, method: str, path: str) -> Callable[[Request], Awaitable[object]] | None:
        match [method, *path.removeprefix(ROOT).split("/")]:
            case ["POST", "users"]:
                return self._make_user
            case ["POST", "clusters"] if self._clusters is not None:
                return partial(self._make_cluster, self._clusters)
            case ["DELETE", "clusters", name] if self._clusters is not None:
                return partial(self._delete_cluster, self._clusters, name)
            case ["POST", "clock"]:
                return self._advance
            case ["POST", "snapshots"]:
                return self._take
            case ["PUT", "snapshots", name]:
                return lambda _: self._restore(name)
            case ["DELETE", "snapshots", name]:
                return lambda _: self._forget(name)
            case ["POST", "changes"]:
                return self._play
            case ["PUT", "recorder"]:
                return self._record
            case ["DELETE", "recorder"]:
                return self._record_no_more
            case ["POST", "faults"]:
                return self._order
            case ["GET", "faults"]:
                return self._ordered
            case ["DELETE", "faults"]:
                return self._clear
            case ["GET", "faults", name]:
                return lambda _: self._one_ordered(name)
            case ["DELETE", "faults", name]:
                return lambda _: self._withdraw(name)
        return None

    async def _take(self, _request: Request) -> object:
        return {"name": await self._snapshots.take()}

    async def _restore(self, name: str) -> object:
        return {"changes": await self._snapshots.restore(name)}

    async def _forget(self, name: str) -> object:
        self._snapshots.forget(name)
        return {}

    async def _advance(self, request: Request) -> object:
        if not self._has_clock:
            raise bad_request("control planes have the clock of the server: set it forward there")
        try:
            seconds = float(orjson.loads(await request.body())["advance"])
        except (ValueError, KeyError, TypeError, OverflowError):
            raise bad_request('give the seconds: {"advance": 3600}') from None
        if not 0 <= seconds <= LONGEST:
            raise bad_request(f"the clock goes forward, by {LONGEST / 86400:g} days at most, not by {seconds:g} s")
        clock.advance(seconds)
        await expire(self._gateway)
        if self._clusters is not None:
            await self._clusters.each(expire)
        return {"now": clock.now()}

    async def _make_user(self, request: Request) -> object:
        try:
            asked = orjson.loads(await request.body())
            return {"token": self._users.make(str(asked["name"]), tuple(map(str, asked.get("groups", ()))))}
        except (ValueError, KeyError, TypeError, AttributeError):
            raise bad_request('say who: {"name": "alice", "groups": ["developers"]}') from None

    async def _make_cluster(self, clusters: Clusters, request: Request) -> object:
        body = await request.body()
        try:
            asked = orjson.loads(body) if body else {}
            name, version = asked.get("name") or "", asked.get("version") or ""
        except (ValueError, AttributeError):
            shown = f'{{"name": "one", "version": "{DEFAULT}"}}'
            raise bad_request(f"say nothing, or a name and a version: {shown}") from None
        return await clusters.make(str(name), str(version))

    async def _delete_cluster(self, clusters: Clusters, name: str, _request: Request) -> object:
        await clusters.delete(name)
        return {}

    async def _play(self, request: Request) -> object:
        return {"changes": await self._playing.play(await request.body())}

    async def _record(self, _request: Request) -> object:
        self._recorder.start()
        return {"last": self._recorder.number}

    async def _record_no_more(self, _request: Request) -> object:
        self._recorder.stop()
        return {"last": self._recorder.number}

    async def _order(self, request: Request) -> object:
        try:
            asked = orjson.loads(await request.body())  # strict, as the text is returned later
        except ValueError:
            raise bad_request("the fault is not JSON") from None
        return _told(self._faults.add(asked))

    async def _ordered(self, _request: Request) -> object:
        return {"faults": [_told(fault) for fault in self._faults.all()]}

    async def _one_ordered(self, name: str) -> object:
        return _told(self._faults.get(name))

    async def _withdraw(self, name: str) -> object:
        return _told(self._faults.remove(name))

    async def _clear(self, _request: Request) -> object:
        self._faults.clear()
        return {}


def plurals(registry: Registry) -> dict[str, str]:
    """The plural names of the served resources by their singular names. Singulars that are plural names too are left
    out.
    """
    served = [each for each in registry.resources.values() if each.singular]
    names = {each.resource for each in served}
    return {each.singular: each.resource for each in served if each.singular not in names}


def _told(fault: FaultRule) -> object:
    return {**fault.asked, "id": fault.id, "hits": fault.hits}


async def _answer(route: Callable[[Request], Awaitable[object]], request: Request) -> tuple[int, bytes]:
    """The status code and the JSON body: the result of the route, or a Status with the error."""
    try:
        return 200, orjson.dumps(await route(request))
    except UnknownSnapshot as missing:
        error = bad_request(f"there is no snapshot {missing.args[0]}")
    except UnknownFault as missing:
        error = bad_request(f"there is no fault {missing.args[0]}")
    except TooManySnapshots as too_many:
        error = bad_request(str(too_many))
    except StorageError as failed:
        error = service_unavailable(f"etcd: {failed}")
    except StatusError as refused:
        error = refused
    return error.code, error.body()


def at_rest(gateway: Gateway) -> bool:
    """Whether the bootstrap objects exist, CustomResourceDefinitions are served, and the controllers have no work."""
    if _undecided(gateway) or not gateway.furnished.is_set() or not gateway.definitions.at_rest:
        return False
    return all(queue.at_rest for queue in gateway.controllers.queues())


def _undecided(gateway: Gateway) -> bool:
    """Whether controllers that have to run do not run yet. Those of a control plane begin with the first write."""
    cache = gateway.store.cache
    if isinstance(cache, PartCache):
        return not (cache.needs_nobody or gateway.controllers.have_state)
    return gateway.controllers.undecided


async def expire(gateway: Gateway) -> None:
    """Deletes events that have expired by the clock, and lets controllers do work that has become due. Raises
    StorageError.
    """
    for group in EXPIRING:
        expiry = gateway.endpoints.of(group, "v1", "events").expiry
        if expiry is not None:
            await expiry.expire()
    for queue in gateway.controllers.queues():
        queue.hurry()
    await gateway.store.reads.fresh()
