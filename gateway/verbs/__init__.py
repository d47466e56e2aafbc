"""The verbs, one module each, and the table that finds them.

A verb is `async def VERB(gateway, request, resource) -> Response`. `VERBS` names the module and function that serve a
verb on every resource; `SUBRESOURCE_VERBS` what serves it on one subresource, or on a resource (then
the subresource is empty), where that differs. Modules are imported
when their verb is first asked for.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from gateway.subresources import VERBS as SUBRESOURCES
from gateway.verbs.deprecated import WARNINGS, with_warning

if TYPE_CHECKING:
    from gateway.http.exchange import Request, Response
    from gateway.kinds.resource import Resource
    from gateway.server import Gateway

    Verb = Callable[[Gateway, Request, Resource], Awaitable[Response]]

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

# (resource.group or resource, subresource) -> {verb: "module:function"}
SUBRESOURCE_VERBS: dict[tuple[str, str], dict[str, str]] = {
    ("componentstatuses", ""): {
        "get": "gateway.verbs.component_statuses:get",
        "list": "gateway.verbs.component_statuses:list_",
        "watch": "gateway.verbs.component_statuses:watch",
    },
    **SUBRESOURCES,
}


@cache
def verb_for(verb: str, qualified: str, subresource: str) -> Verb:
    """What serves `verb` on a resource ("deployments.apps"); raises KeyError for a verb that nobody serves."""
    special = SUBRESOURCE_VERBS.get((qualified, subresource), {})
    module, _, function = (special.get(verb) or VERBS[verb]).partition(":")
    verb_function: Verb = getattr(import_module(module), function)
    warning = WARNINGS.get(qualified)
    return verb_function if warning is None else with_warning(verb_function, warning)
