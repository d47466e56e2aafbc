"""Requests whose path has a name or namespace that nothing is kept under: refused, though not before all else."""

from __future__ import annotations

from functools import partial

from gateway.endpoints.endpoint import Endpoint
from gateway.http.exchange import Request, Response
from gateway.http.status import StatusError
from gateway.kinds.resource import Resource
from gateway.verbs import Verb
from gateway.writing.body import read_object
from gateway.writing.options import write_options
from gateway.writing.patching import patch_type, read_patch

_OPTIONS = {"create": "CreateOptions", "update": "UpdateOptions"}


def check_at_once(request: Request, resource: Resource, missing: StatusError) -> None:
    """Raises `missing`, of a custom object whose name is: only the type of a patch is looked at before."""
    if request.info.verb == "patch":
        patch_type(request, resource)
    raise missing


def refusing(problem: StatusError, missing: bool) -> Verb:
    """A verb that is refused for its name: before the body is read where that is `missing`, else after it."""
    return partial(_refuse, problem, missing)


async def _refuse(problem: StatusError, missing: bool, endpoint: Endpoint, request: Request) -> Response:
    verb = request.info.verb
    if not missing and not request.media.passing:
        if verb == "patch":
            await read_patch(request, endpoint.resource)
        elif verb in _OPTIONS:
            await read_object(request, endpoint, write_options(request.query, _OPTIONS[verb]).validation)
    raise problem
