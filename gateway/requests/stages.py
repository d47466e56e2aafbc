"""The list of stages that handle each request, in kube-apiserver's order.

A stage is a function of the RequestContext. It returns None for the next stage, or the answer, or an awaitable of
either; an exception becomes a Status. The handler records how long each stage waited, by its name. Metrics, traces, the
log of slow requests and audit annotations use these times.

A request skips stages by their flags (see Stage). A cached route, as of most GETs, skips the stages that find info and
route. A GET skips the stages of writes. A resource request skips the stages of other paths.

Nothing on the way replaces another stage, the endpoint or the verb; a test holds that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.access.spent_headers import spent_headers
from gateway.requests import access, elsewhere, identity, name_stage, serving_stages
from gateway.requests.context import Outcome, RequestContext, Stage
from gateway.requests.elsewhere import Operations
from gateway.requests.late_imports import import_encoder_first, import_rules_first
from gateway.requests.load_stages import wait_until_loaded
from gateway.requests.parts import Gateway
from gateway.requests.routes import Routes

if TYPE_CHECKING:
    from gateway.tracing.tracer import Tracer

STARTING = "starting"  # the owner of the inserted stages (see Interposed), and the name of the first


def while_starting(gateway: Gateway, operations: Operations) -> list[tuple[str, Stage]]:
    """The additional stages during the start of the process, each with the name of the stage that it follows.

    They are removed at the end of the start, so that later requests need not check whether it is over.
    """

    def hold(context: RequestContext) -> Outcome:
        from gateway.requests import start_stages  # imported late: maybe no request comes before the start is over

        return start_stages.hold(gateway, context)

    def hold_nodes(context: RequestContext) -> Outcome:
        from gateway.requests import start_stages

        return start_stages.hold_nodes(gateway, context)

    def probe(context: RequestContext) -> Outcome:
        from gateway.requests import start_stages

        return start_stages.probe(operations, context)

    def wait_until_filled(context: RequestContext) -> Outcome:
        from gateway.requests import start_stages

        return start_stages.wait_until_filled(context)

    return [
        ("request-info", Stage(STARTING, hold)),
        ("impersonation", Stage("starting-nodes", hold_nodes)),
        ("priority-and-fairness", Stage("probes", probe)),
        ("turn", Stage("unfilled", wait_until_filled)),
    ]


def stages_of(gateway: Gateway, routes: Routes, operations: Operations) -> list[Stage]:
    """The stages of a request, in order. `operations` answers requests for paths outside the API."""
    services = gateway.services
    apart, audit = services.renderings.apart, services.audit
    going = [Stage("shutdown", access.shutdown(services))] if services.settings.shutdown_send_retry_after else []
    recorded = [] if audit is None else [Stage("audit", access.auditing(audit))]
    return [
        # the request info
        Stage("request-info", routes.read_info, by_path=True),
        *going,
        # the user and its rights
        Stage("authentication", identity.authentication(services.authenticator, spent_headers(services.settings))),
        *_traced(services.tracer),
        *recorded,
        Stage("impersonation", identity.impersonation(services.authorizer, gateway.registry.release.gates.enabled)),
        Stage("priority-and-fairness", services.limiter.enter, again=True),
        Stage("long-query", serving_stages.wait_with_long_query, by_path=True),
        Stage("authorization", access.authorization(services.authorizer)),
        # requests that are answered without a verb
        Stage("definitions", elsewhere.announced(gateway.definitions, gateway.registry), by_path=True),
        Stage("delegation", elsewhere.delegation(gateway.aggregation.delegation, routes.delegated), by_path=True),
        Stage("discovery", elsewhere.discovery(gateway.discovery, apart), by_path=True, of_others=True),
        Stage("operations", elsewhere.operations(operations), by_path=True, of_others=True),
        Stage("routing", routes.find, by_path=True),
        Stage("name-of-custom", name_stage.check_patch_type, by_path=True),
        # the answer
        Stage("negotiation", serving_stages.negotiate),
        Stage("encoder", import_encoder_first),
        Stage("turn", serving_stages.turns(), of_writes=True),
        Stage("rules", import_rules_first, by_path=True, of_writes=True),
        Stage("loading", wait_until_loaded, by_path=True),
        Stage("name", name_stage.refuse_misnamed, by_path=True),
        Stage("deprecation", serving_stages.deprecation),
        Stage("long-running", serving_stages.long_running(services.watches)),
        Stage("verb", serving_stages.verb, again=True),
        Stage("begun", serving_stages.begun(gateway.interposed), again=True),
        Stage(
            "visibility",
            serving_stages.visibility(services.admission.policies.have_parameter, gateway.definitions),
            of_writes=True,
        ),
        Stage("representation", serving_stages.representation(apart), again=True),
    ]


def _traced(tracer: Tracer | None) -> list[Stage]:
    if tracer is None:
        return []
    from gateway.requests.spans import tracing  # with OpenTelemetry

    return [Stage("tracing", tracing(tracer))]
