"""The warning and the audit annotation of a deprecated API version."""

from __future__ import annotations

from gateway.endpoints.endpoint import Endpoint
from gateway.http.exchange import Request


def warn_of_deprecation(request: Request, endpoint: Endpoint) -> None:
    """Adds the endpoint's deprecation warning to the answer; does nothing for a version that is not deprecated."""
    if endpoint.deprecation:
        request.warnings.append(endpoint.deprecation)
        if request.audit is not None:
            request.audit.annotate("k8s.io/deprecated", "true")
