"""The APIServices of the built-in groups, as a control plane has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from gateway.aggregation.availability import LOCAL
from gateway.aggregation.services import AVAILABLE
from gateway.controllers.api_service_objects import api_services
from gateway.controllers.bootstrap_objects import BootstrapObject
from gateway.jsontypes import JsonObject


def services(served: Mapping[str, Sequence[str]]) -> Iterator[BootstrapObject]:
    """The APIServices of the served groups and versions. Their status says Available; no controller checks them."""
    return (replace(each, status=_available) for each in api_services(served))


def _available(now: str) -> JsonObject:
    return {"conditions": [{"type": AVAILABLE, "status": "True", "lastTransitionTime": now, **LOCAL}]}
