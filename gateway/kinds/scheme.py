"""What Go's scheme, which knows the kinds that are compiled in, says of those that it does not know."""

from __future__ import annotations

from gateway.validation.field import go_quote

SCHEME = 'in scheme "pkg/runtime/scheme.go:111"'
_GROUP_PACKAGES = {
    "": "core",
    "admissionregistration.k8s.io": "admissionregistration",
    "events.k8s.io": "core",
    "internal.apiserver.k8s.io": "apiserverinternal",
}


def unregistered(kind: str, version: str) -> str:
    """What Go's scheme says of a kind that it does not know in that version."""
    group, _, number = version.rpartition("/")
    if number == "__internal":
        return f"no kind {go_quote(kind)} is registered for the internal version of group {go_quote(group)} {SCHEME}"
    return f"no kind {go_quote(kind)} is registered for version {go_quote(version)} {SCHEME}"


def internal_package(group: str) -> str:
    """The Go package that holds a group's internal types, as conversion errors name it."""
    return _GROUP_PACKAGES.get(group) or group.partition(".")[0]
