"""A request's way, as a list: what happens to each request, in kube-apiserver's order.

A stage is a function of the RequestContext. It returns None if the request goes on, the answer, or an awaitable of
either; an exception becomes a Status. The handler notes how long each stage waited, under its name: metrics, traces,
the log of slow requests and audit annotations take their times from that.

A request leaves out the stages that have nothing to do for it, as each says: those that find its info and route where
these are remembered, as for most GETs; those of writes for a GET; for a resource those of other paths.
"""

from __future__ import annotations

from gateway.access.spent_headers import spent_headers
from gateway.requests import access, elsewhere, identity, misnamed, serving
from gateway.requests.context import Outcome, RequestContext, Stage
from gateway.requests.elsewhere import Operations
from gateway.requests.parts import Gateway
from gateway.requests.routes import Routes
from gateway.requests.unimported import import_rules_first
from gateway.requests.unloaded import wait_until_loaded

STARTING = "starting"  # whose stages these are


def while_starting(gateway: Gateway, operations: Operations) -> list[tuple[str, Stage]]:
    """What a request meets as long as the start goes on, each after the stage that is named with it.

    They are taken away in the end, so that no request has to ask whether it is over.
    """

    def hold(context: RequestContext) -> Outcome:
        from gateway.requests import starting  # nobody may ask before the start is over

        return starting.hold(gateway, context)

    def hold_nodes(context: RequestContext) -> Outcome:
        from gateway.requests import starting

        return starting.hold_nodes(gateway, context)

    def probe(context: RequestContext) -> Outcome:
        from gateway.requests import starting

        return starting.probe(operations, context)

    def read_without_cache(context: RequestContext) -> Outcome:
        from gateway.requests import starting

        return starting.read_without_cache(context)

    return [
        ("request-info", Stage(STARTING, hold)),
        ("impersonation", Stage("starting-nodes", hold_nodes)),
        ("priority-and-fairness", Stage("probes", probe)),
        ("turn", Stage("unfilled", read_without_cache)),
    ]


def stages_of(gateway: Gateway, routes: Routes, operations: Operations) -> list[Stage]:
    """The stages. `operations` answers what is not the API's."""
    services = gateway.services
    apart, audit = services.renderings.apart, services.audit
    going = [Stage("shutdown", access.shutdown(services))] if services.settings.shutdown_send_retry_after else []
    recorded = [] if audit is None else [Stage("audit", access.auditing(audit))]
    way = [
        # what it is about
        Stage("request-info", routes.read_info, by_path=True),
        *going,
        # the user and its rights
        Stage("authentication", identity.authentication(services.authenticator, spent_headers(services.settings))),
        *recorded,
        Stage("impersonation", identity.impersonation(services.authorizer, gateway.registry.release.gates.enabled)),
        Stage("priority-and-fairness", services.limiter.enter),
        Stage("authorization", access.authorization(services.authorizer)),
        # requests that others answer
        Stage("definitions", elsewhere.announced(gateway.definitions, gateway.registry), by_path=True),
        Stage("delegation", elsewhere.delegation(gateway.aggregation.delegation, routes.delegated), by_path=True),
        Stage("discovery", elsewhere.discovery(gateway.discovery, apart), by_path=True, of_others=True),
        Stage("operations", elsewhere.operations(operations), by_path=True, of_others=True),
        Stage("routing", routes.find, by_path=True),
        Stage("name-of-custom", misnamed.check_patch_type, by_path=True),
        # the answer
        Stage("negotiation", serving.negotiate),
        Stage("turn", serving.turns(), of_writes=True),
        Stage("rules", import_rules_first, by_path=True, of_writes=True),
        Stage("loading", wait_until_loaded, by_path=True),
        Stage("name", misnamed.refuse_misnamed, by_path=True),
        Stage("verb", serving.verb(services.watches, gateway.interposed, services.limiter)),
        Stage(
            "visibility",
            serving.visibility(services.admission.policies.have_parameter, gateway.definitions),
            of_writes=True,
        ),
        Stage("representation", serving.representation(apart)),
    ]
    if services.tracer is None:
        return way
    from gateway.requests.tracing import traced

    return [*traced(way, services.tracer)]
