"""The stage rules: the rules of a kind that is written for the first time are imported in a thread, not on the loop."""

from __future__ import annotations

import asyncio

from gateway.kinds.strategies import import_rules, is_imported
from gateway.requests.context import Outcome, RequestContext
from gateway.requests.in_time import in_time


def import_rules_first(context: RequestContext) -> Outcome:
    """Has a write wait until the rules of its kind are imported."""
    route = context.route
    assert route is not None
    own = route.endpoint.resource.gvr.group_resource
    if context.request.method == "GET" or is_imported(own):
        return None
    return in_time(context, asyncio.to_thread(import_rules, own))
