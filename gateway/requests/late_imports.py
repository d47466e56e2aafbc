"""Late imports, in a thread and not on the event loop, for the first request that needs them.

They are the rules of a kind, in the stage rules, and the encoder of Tables, in the stage encoder, which takes 70 ms
without compiled files.
"""

from __future__ import annotations

import asyncio
import sys
from importlib import import_module

from gateway.http.negotiation import TABLE
from gateway.kinds.strategies import import_rules, is_imported
from gateway.requests.context import Outcome, RequestContext
from gateway.requests.in_time import in_time


def import_rules_first(context: RequestContext) -> Outcome:
    """Lets a write wait until the rules of its kind are imported."""
    route = context.route
    assert route is not None
    own = route.endpoint.resource.gvr.group_resource
    if context.request.method == "GET" or is_imported(own):
        return None
    return in_time(context, asyncio.to_thread(import_rules, own))


def import_encoder_first(context: RequestContext) -> Outcome:
    """Lets a request for a Table wait until the encoder of Tables is imported."""
    transform = context.request.representation.transform
    if transform is None or transform.kind != TABLE or all(module in sys.modules for module in _OF_TABLES):
        return None
    return in_time(context, asyncio.to_thread(_import_tables))


_OF_TABLES = ("gateway.encodings.table_encoder", "gateway.kinds.columns.custom", "gateway.kinds.columns.registry")


def _import_tables() -> None:
    for module in _OF_TABLES:
        import_module(module)
