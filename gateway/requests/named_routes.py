"""Routes of writes to single objects: requests for objects of one collection differ in the name alone.

So the route of one such request has what the next one needs, but for the name in its info. kubelets and controllers
write to thousands of objects of a few collections.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gateway.http.exchange import Request
from gateway.http.request_info import RequestInfo
from gateway.memo import Memory
from gateway.requests.context import Route
from gateway.requests.measures import is_apply

_METHODS = frozenset({"PUT", "PATCH", "DELETE"})
_STATUS = "status"
_LONGEST = 512  # characters of a path

_Key = tuple[str, bool, str, str, bytes]
"""Method, whether it is an apply (metrics tell it from other patches), collection, subresource, query."""


class NamedRoutes(Memory[_Key, Route]):
    """The latest route by what it depends on: all but the name."""

    __slots__ = ()

    def recall(self, request: Request, scope: Mapping[str, Any]) -> Route | None:
        """The route of a request if the name is all that it does not share with an earlier one."""
        if request.method not in _METHODS:
            return None
        collection, name, subresource = _parts(request.path)
        known = self.get(_key(request, collection, subresource))
        if known is None or not _is_usual(name) or b"%" in scope["raw_path"]:
            return None
        info = known.info
        parts = (info.resource, name, subresource) if subresource else (info.resource, name)
        own = RequestInfo(
            info.verb, request.path, True, info.prefix, info.group, info.version, info.resource, subresource,
            info.namespace, name, parts,
        )  # fmt: skip
        return Route(own, *known[1:])

    def note(self, request: Request, route: Route, size: int) -> None:
        """Keeps a route for later requests, if it is one that these may share."""
        info = route.info
        collection, name, subresource = _parts(request.path)
        if request.method not in _METHODS or route.problem is not None or len(request.path) > _LONGEST:
            return
        if (name, subresource) != (info.name, info.subresource) or info.verb_in_path or info.in_no_namespace:
            return
        if info.resource == "namespaces":  # the name is the namespace, too
            return
        if "//" not in request.path and collection.endswith(f"/{info.resource}") and _is_usual(name):
            self.keep(_key(request, collection, subresource), route, size)


def _key(request: Request, collection: str, subresource: str) -> _Key:
    applies = request.method == "PATCH" and is_apply(request)
    return request.method, applies, collection, subresource, request.query_string


def _parts(path: str) -> tuple[str, str, str]:
    """The path of the collection, the name, and the subresource status where that is the path's end."""
    collection, _, name = path.rpartition("/")
    if name != _STATUS:
        return collection, name, ""
    collection, _, name = collection.rpartition("/")
    return collection, name, _STATUS


def _is_usual(name: str) -> bool:
    return bool(name) and "%" not in name and name not in (".", "..")
