"""Resources that are deprecated: every answer of theirs says so in a warning ("Deprecated API Migration Guide")."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateway.http.exchange import Request, Response
    from gateway.kinds.resource import Resource
    from gateway.server import Gateway
    from gateway.verbs import Verb

# plural.group -> the warning
WARNINGS = {
    "componentstatuses": "v1 ComponentStatus is deprecated in v1.19+",
    "endpoints": "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
}


def with_warning(verb: Verb, text: str) -> Verb:
    """The same verb, warning."""

    async def warn(gateway: Gateway, request: Request, resource: Resource) -> Response:
        request.warnings.append(text)
        return await verb(gateway, request, resource)

    return warn
