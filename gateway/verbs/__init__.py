"""The verbs, one module each, and the table that finds them.

A verb is `async def VERB(endpoint, request) -> Response`. `VERBS` names the module and function that serve a verb on
every resource. `SPECIAL` names those for one subresource, or for a resource without storage, where they differ. A
module is imported at the first request for its verb.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cache
from importlib import import_module

from gateway.endpoints.endpoint import Endpoint
from gateway.http.exchange import Request, Response
from gateway.kinds.identity import GroupResource
from gateway.kinds.resource import Resource
from gateway.subresources import EVERYWHERE
from gateway.subresources import VERBS as SUBRESOURCES

Verb = Callable[[Endpoint, Request], Awaitable[Response]]

VERBS = {
    "get": "gateway.verbs.get:get",
    "list": "gateway.verbs.list:list_",
    "watch": "gateway.verbs.watch:watch",
    "create": "gateway.verbs.create:create",
    "update": "gateway.verbs.update:update",
    "patch": "gateway.verbs.patch:patch",
    "delete": "gateway.verbs.delete:delete",
    "deletecollection": "gateway.verbs.deletecollection:deletecollection",
}

# resource, subresource -> {verb: "module:function"}
SPECIAL: dict[tuple[GroupResource, str], dict[str, str]] = {
    (GroupResource("", "componentstatuses"), ""): {
        "get": "gateway.verbs.component_statuses:get",
        "list": "gateway.verbs.component_statuses:list_",
        "watch": "gateway.verbs.component_statuses:watch",
    },
    **SUBRESOURCES,
}


def verb_for(verb: str, resource: Resource) -> Verb:
    """The function that serves `verb` on a resource. Raises KeyError for an unknown verb."""
    own, subresource = resource.gvr.group_resource, resource.subresource
    special = SPECIAL.get((own, subresource)) or EVERYWHERE.get(subresource, {})
    return _imported(special.get(verb) or VERBS[verb])


@cache
def _imported(place: str) -> Verb:
    module, _, function = place.partition(":")
    verb: Verb = getattr(import_module(module), function)
    return verb
