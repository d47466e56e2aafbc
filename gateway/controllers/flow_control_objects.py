"""The default PriorityLevelConfigurations and FlowSchemas, as bootstrap objects."""

from __future__ import annotations

from collections.abc import Iterator

from gateway.controllers.bootstrap_objects import BootstrapObject
from gateway.flowcontrol.objects import GROUP, LEVELS, SCHEMAS, default_levels, default_schemas
from gateway.jsontypes import JsonObject

_KEPT_UP_TO_DATE = {"apf.kubernetes.io/autoupdate-spec": "true"}


def flow_control() -> Iterator[BootstrapObject]:
    """All default objects of API Priority and Fairness."""
    for name, spec in default_levels():
        yield _object(LEVELS, name, spec)
    for name, spec in default_schemas():
        yield _object(SCHEMAS, name, spec)


def _object(resource: str, name: str, spec: JsonObject) -> BootstrapObject:
    content = {"metadata": {"name": name, "annotations": _KEPT_UP_TO_DATE}, "spec": spec}
    return BootstrapObject(GROUP, "v1", resource, content, manager="api-priority-and-fairness-config-producer-v1")
