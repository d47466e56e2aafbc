"""Names of compute resources (page "Resource Management for Pods and Containers")."""

from __future__ import annotations

from gateway.schema.pod_total import HUGE_PAGES
from gateway.validation.field import FieldError, invalid
from gateway.validation.formats import validate_qualified_name
from gateway.validation.names import is_qualified_name

REQUESTS = "requests."
NATIVE_PREFIX = "kubernetes.io/"

CONTAINER = frozenset({"cpu", "memory", "ephemeral-storage"})
COUNTED = frozenset(
    {
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    }
)
COMPUTE = CONTAINER | {f"{kind}.{name}" for kind in ("requests", "limits") for name in CONTAINER}
STANDARD = COMPUTE | COUNTED | {"storage", "requests.storage"}


def is_huge_page(name: str) -> bool:
    return name.startswith(HUGE_PAGES)


def is_native(name: str) -> bool:
    return "/" not in name or NATIVE_PREFIX in name


def is_extended(name: str) -> bool:
    return not is_native(name) and not name.startswith(REQUESTS) and not is_qualified_name(REQUESTS + name)


def is_overcommit_allowed(name: str) -> bool:
    """Whether a limit may be higher than the request."""
    return is_native(name) and not is_huge_page(name)


def is_integer_resource(name: str) -> bool:
    """Whether quantities of a resource must be whole numbers."""
    return name in COUNTED or is_extended(name)


def validate_resource_name(name: str, path: str) -> list[FieldError]:
    """The name must be that of a standard resource, or have a domain prefix."""
    found = validate_qualified_name(path, name)
    if (
        not found
        and "/" not in name
        and name not in STANDARD
        and not name.startswith((HUGE_PAGES, REQUESTS + HUGE_PAGES))
    ):
        found.append(invalid(path, name, "must be a standard resource type or fully qualified"))
    return found


def validate_container_resource_name(name: str, path: str) -> list[FieldError]:
    """The name must be that of a resource that containers can request."""
    found = validate_resource_name(name, path)
    if "/" not in name:
        if name not in CONTAINER and not is_huge_page(name):
            found.append(invalid(path, name, "must be a standard resource for containers"))
    elif not is_native(name) and not is_extended(name):
        found.append(invalid(path, name, "doesn't follow extended resource name standard"))
    return found
