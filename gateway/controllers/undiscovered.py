"""Group versions of other servers that cannot be asked: nobody knows whether a namespace has objects of them."""

from __future__ import annotations

from gateway.endpoints.table import Endpoints

RESOURCE = "apiservices"
_SERVICE = b'"service":{'


def undiscovered(endpoints: Endpoints) -> list[str]:
    """The group versions ("group/version") that an APIService leaves to a service and that are not served, sorted."""
    endpoint = endpoints.of("apiregistration.k8s.io", "v1", RESOURCE)
    found = set()
    for entry in endpoint.store.cached_entries(endpoint.collection("")):
        if entry.readable is not entry or _SERVICE not in entry.tail:
            continue
        spec = entry.parsed().get("spec") or {}
        group, version = spec.get("group", ""), spec.get("version", "")
        if spec.get("service") and version not in endpoints.registry.groups.get(group, ()):
            found.add(f"{group}/{version}")
    return sorted(found)


def discovery_failure(group_versions: list[str]) -> str:
    """The failure in client-go's words; "" for no group versions."""
    if not group_versions:
        return ""
    each = ", ".join(f"{name}: stale GroupVersion discovery: {name}" for name in group_versions)
    failed = f"unable to retrieve the complete list of server APIs: {each}"
    return f"Discovery failed for some groups, {len(group_versions)} failing: {failed}"
