"""A namespace's objects on extension API servers are deleted, also if discovery is wrong about the verbs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from gateway.aggregation.contents import NamespaceContents
from gateway.aggregation.objects import ObjectClient
from gateway.endpoints.foreign import ForeignKind, Left
from gateway.http.user import ITSELF
from gateway.jsontypes import dumps
from gateway.outbound.client import Reply
from gateway.outbound.request import OutboundRequest

VERBS = frozenset({"delete", "deletecollection", "list"})
COLLECTION = "/apis/e.com/v1/namespaces/n/things"


class Server:
    """Has things of a namespace. `refuses` are the requests that it answers 405, as method and path."""

    def __init__(self, *names: str, refuses: tuple[str, ...] = ()) -> None:
        self.names, self._refuses, self.asked = list(names), refuses, list[str]()

    async def call(self, target: object, request: OutboundRequest, timeout: float, largest: int) -> Reply:
        path = request.path.partition("?")[0]
        self.asked.append(f"{request.method} {path}")
        if self.asked[-1] in self._refuses:
            return Reply(405)
        if request.method == "DELETE":
            name = path.removeprefix(COLLECTION).lstrip("/")
            self.names = [each for each in self.names if name and each != name]
            return Reply(200, [], b"{}")
        items = [{"metadata": {"name": each, "namespace": "n", "finalizers": ["f"]}} for each in self.names]
        return Reply(200, [], dumps({"items": items}))


async def emptied(server: Server, *versions: str) -> Left:
    kinds = {each: ForeignKind("e.com", each, "Thing", "things", True, VERBS) for each in versions or ("v1",)}
    service = SimpleNamespace(available=True, target=lambda addresses, identity: None)
    services = SimpleNamespace(remote={("e.com", each): service for each in kinds}, preferred=lambda: list(kinds))
    discovered = SimpleNamespace(kinds=lambda version: [kinds[version]])
    objects = ObjectClient(*cast(Any, (services, server, None, None)))
    return await NamespaceContents(*cast(Any, (services, discovered, objects))).empty("n", ITSELF)


async def test_a_server_without_deletecollection_is_asked_for_each() -> None:
    server = Server("a", "b", refuses=(f"DELETE {COLLECTION}",))
    left = await emptied(server)
    assert not server.names and not left.resources and not left.failures
    assert f"DELETE {COLLECTION}/b" in server.asked


async def test_what_stays_is_counted_with_its_finalizers() -> None:
    server = Server("a", "b", refuses=(f"DELETE {COLLECTION}", f"DELETE {COLLECTION}/a"))
    left = await emptied(server)
    assert (left.resources, left.finalizers, left.failures) == ({"things.e.com": 1}, {"f": 1}, [])


async def test_what_cannot_be_listed_leaves_nothing() -> None:
    left = await emptied(Server("a", refuses=(f"GET {COLLECTION}", f"DELETE {COLLECTION}")))
    assert not left.resources and not left.failures


async def test_objects_of_several_versions_are_deleted_once() -> None:
    server = Server("a")
    await emptied(server, "v1", "v1beta1")
    assert server.asked == [f"DELETE {COLLECTION}", f"GET {COLLECTION}"]
