"""What the tests of others may ask of a server that is theirs alone: snapshots, and time that passes at once.

Under /testing, with --testing-api, for those who may do anything.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from hashlib import sha256
from secrets import token_urlsafe

import orjson

from gateway import clock
from gateway.access.authentication import AudienceAgnostic, Authenticated
from gateway.framework import APIRouter, Request, Response
from gateway.http.status import StatusError, bad_request, service_unavailable
from gateway.http.user import User
from gateway.server import Gateway
from gateway.snapshots import Snapshots, TooManySnapshots, UnknownSnapshot
from storage.errors import StorageError

ROOT = "/testing"
EXPIRING = ("", "events.k8s.io")  # groups whose events go by themselves
MOST_USERS = 10_000
LONGEST = 10 * 365 * 24 * 3600.0  # seconds that the clock may be set forward by


class Users:
    """Tokens of users that a test wanted."""

    def __init__(self) -> None:
        self._users: dict[bytes, User] = {}  # by their tokens' SHA-256

    def make(self, name: str, groups: tuple[str, ...]) -> str:
        """The token of a new user. The oldest go when there are too many."""
        token = token_urlsafe(24)
        if len(self._users) >= MOST_USERS:
            del self._users[next(iter(self._users))]
        self._users[sha256(token.encode()).digest()] = User(name, groups)
        return token

    async def authenticate(self, token: str, audiences: Sequence[str]) -> Authenticated | None:
        user = self._users.get(sha256(token.encode("utf-8", "surrogateescape")).digest())
        return None if user is None else Authenticated(user, tuple(audiences))


def testing_api(gateway: Gateway) -> APIRouter:
    """The routes."""
    settings = gateway.settings
    snapshots = Snapshots(
        gateway.store,
        settings.etcd_prefix,
        lambda: at_rest(gateway),
        own_etcd=settings.embedded_etcd and settings.data_dir is None,
    )
    router = APIRouter()

    async def take(_request: Request) -> object:
        return {"name": await snapshots.take()}

    async def restore(request: Request) -> object:
        name = request.path_params["name"]
        if request.method == "DELETE":
            snapshots.forget(name)
            return {}
        return {"changes": await snapshots.restore(name)}

    async def advance(request: Request) -> object:
        try:
            seconds = float(json.loads(await request.body())["advance"])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise bad_request('give the seconds: {"advance": 3600}') from None
        if not 0 <= seconds <= LONGEST:
            raise bad_request(f"the clock goes forward, by {LONGEST:g} s at most")
        clock.advance(seconds)
        await expire(gateway)
        return {"now": clock.now()}

    users = Users()
    authenticator = gateway.services.authenticator
    authenticator.add(AudienceAgnostic(users, authenticator.audiences))

    async def make_user(request: Request) -> object:
        try:
            asked = json.loads(await request.body())
            return {"token": users.make(str(asked["name"]), tuple(map(str, asked.get("groups", ()))))}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise bad_request('say who: {"name": "alice", "groups": ["developers"]}') from None

    router.add_route(f"{ROOT}/users", _answering(make_user), methods=["POST"])
    router.add_route(f"{ROOT}/snapshots", _answering(take), methods=["POST"])
    router.add_route(f"{ROOT}/snapshots/{{name}}", _answering(restore), methods=["PUT", "DELETE"])
    router.add_route(f"{ROOT}/clock", _answering(advance), methods=["POST"])
    return router


def _answering(make: Callable[[Request], Awaitable[object]]) -> Callable[[Request], Awaitable[Response]]:
    """The route that answers what is made, or a Status that says what is wrong."""

    async def answer(request: Request) -> Response:
        try:
            return Response(orjson.dumps(await make(request)), media_type="application/json")
        except UnknownSnapshot as missing:
            error = bad_request(f"there is no snapshot {missing.args[0]}")
        except TooManySnapshots as too_many:
            error = bad_request(str(too_many))
        except StorageError as failed:
            error = service_unavailable(f"etcd: {failed}")
        except StatusError as refused:
            error = refused
        return Response(error.body(), error.code, media_type="application/json")

    return answer


def at_rest(gateway: Gateway) -> bool:
    """Whether the cluster has all that it comes with, and the controllers have nothing to do right now."""
    controllers = gateway.controllers
    if controllers is None or controllers.undecided or not gateway.furnished.is_set():
        return False
    return all(queue.at_rest for queue in controllers.queues())


async def expire(gateway: Gateway) -> None:
    """Ends what has ended by the clock. Raises StorageError."""
    for group in EXPIRING:
        expiry = gateway.endpoints.of(group, "v1", "events").expiry
        if expiry is not None:
            await expiry.expire()
    for queue in () if gateway.controllers is None else gateway.controllers.queues():
        queue.hurry()
    await gateway.store.reads.fresh()
