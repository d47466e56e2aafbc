"""A request's way, as a list: what happens to each request, in kube-apiserver's order.

A stage looks at the RequestContext. It comes to None where the request goes on, else to the answer, or to what has to
be waited for; it raises what becomes a Status. The handler notes how long was waited in each, under its name, and that
is all that metrics, traces, the log of slow requests and audit annotations know of a request's time.

Where the route is remembered, as that of most GETs is, those stages are left out that look for it.
"""

from __future__ import annotations

from gateway.discovery.serving import Discovery
from gateway.requests import access, elsewhere, identity, serving
from gateway.requests.context import Stage
from gateway.requests.elsewhere import Operations
from gateway.requests.parts import Gateway
from gateway.requests.routes import Routes


def stages_of(gateway: Gateway, routes: Routes, discovery: Discovery, operations: Operations) -> list[Stage]:
    """The stages. `operations` answers what is not the API's."""
    services = gateway.services
    apart, audit = services.renderings.apart, services.audit
    going = [Stage("shutdown", access.shutdown(services))] if services.settings.shutdown_send_retry_after else []
    recorded = [] if audit is None else [Stage("audit", access.auditing(audit))]
    return [
        # what it is about
        Stage("request-info", routes.read_info),
        *going,
        # who asks, and whether it may
        Stage("authentication", identity.authentication(services.authenticator)),
        *recorded,
        Stage("impersonation", identity.impersonation(services.authorizer)),
        Stage("priority-and-fairness", access.fairness(services.limiter)),
        Stage("authorization", access.authorization(services.authorizer)),
        # who answers it
        Stage("delegation", elsewhere.delegation(gateway)),
        Stage("discovery", elsewhere.discovery(discovery, apart), by_path=True),
        Stage("operations", elsewhere.operations(operations), by_path=True),
        Stage("routing", routes.find, by_path=True),
        # the answer
        Stage("negotiation", serving.negotiate),
        Stage("verb", serving.verb(services.watches)),
        Stage("visibility", serving.visibility(services.store.reads, services.admission.policies.have_parameter)),
        Stage("representation", serving.representation(apart)),
    ]
