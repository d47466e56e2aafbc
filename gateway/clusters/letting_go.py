"""Takes apart the parts of a control plane that has ended, so that its memory is free at once.

They refer to each other, and the garbage collector never looks at objects that were in use at an earlier collection
(`gateway/memory.py`).
"""

from __future__ import annotations

from gateway.requests.parts import Gateway

# The parts that only one gateway has. Parts that it shares with the root or with another control plane are not listed.
_OF_GATEWAY = ("registry", "endpoints", "discovery", "definitions", "aggregation", "controllers", "interposed")
_OF_SERVICES = (
    *("authenticator", "authorizer", "policy", "database", "stores", "admission", "limiter", "watches", "webhooks"),
    *("foreign", "foreign_objects", "following", "legacy_uses"),
)


def let_go(gateway: Gateway, handler: object) -> None:
    """Empties the parts of a gateway, and its handler. No request may be in progress, and no task of the gateway may
    run.
    """
    services, aggregation = gateway.services, gateway.aggregation
    parts = [getattr(gateway, name) for name in _OF_GATEWAY]
    parts += [aggregation.services, aggregation.registration]
    parts += [getattr(services, name) for name in _OF_SERVICES]
    policies, webhooks = services.admission.policies, services.admission.webhooks
    parts += [policies.mutating, policies.validating, webhooks.mutating, webhooks.validating]
    for part in (*parts, gateway, handler):  # not the services: a watch that ends asks them whether the server stops
        _empty(part)


def _empty(part: object) -> None:
    if hasattr(part, "__dict__"):
        vars(part).clear()
    for kind in type(part).__mro__:
        for name in getattr(kind, "__slots__", ()):
            if hasattr(part, name):
                object.__delattr__(part, name)
