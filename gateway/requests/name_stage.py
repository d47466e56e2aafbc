"""The stage name: refuses requests whose path has a name or namespace that is impossible for the resource."""

from __future__ import annotations

from gateway.endpoints.routing import NameMissing
from gateway.http.exchange import Request
from gateway.http.status import StatusError
from gateway.requests.context import Outcome, RequestContext, Route
from gateway.requests.in_time import in_time
from gateway.requests.serving_stages import warn_of_deprecation
from gateway.writing.body import read_object
from gateway.writing.options import write_options
from gateway.writing.patch_body import patch_type, read_patch

_OPTIONS = {"create": "CreateOptions", "update": "UpdateOptions"}


def check_patch_type(context: RequestContext) -> Outcome:
    """Raises the route's problem if the path of a custom resource has no name, before the stage negotiation.

    For a patch, an unsupported media type (StatusError 415) comes first.
    """
    route = context.route
    assert route is not None
    if not isinstance(route.problem, NameMissing) or not route.endpoint.resource.defined:
        return None
    if route.info.verb == "patch":
        patch_type(context.request, route.endpoint.resource)
    raise route.problem


def refuse_misnamed(context: RequestContext) -> Outcome:
    """Raises the route's problem: at once if the name is missing, otherwise after the body was read and checked."""
    route = context.route
    assert route is not None
    if route.problem is None:
        return None
    warn_of_deprecation(context.request, route.endpoint)
    return in_time(context, _refuse(context.request, route, route.problem))


async def _refuse(request: Request, route: Route, problem: StatusError) -> None:
    verb, endpoint = route.info.verb, route.endpoint
    if not isinstance(problem, NameMissing) and not request.media.passing:
        if verb == "patch":
            await read_patch(request, endpoint.resource)
        elif verb in _OPTIONS:
            await read_object(request, endpoint, write_options(request.query, _OPTIONS[verb]).validation)
    raise problem
