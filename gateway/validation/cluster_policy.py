"""The rules of --allow-privileged=false for pods, in all namespaces."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.validation.field import FieldError, forbidden
from gateway.validation.pod_options import containers_of, containers_with_path


def privileges(spec: JsonObject, path: str) -> list[FieldError]:
    """Errors about privileged containers and Windows HostProcess containers in a pod's spec."""
    errors = [
        forbidden(f"{at}.securityContext.privileged", "disallowed by cluster policy")
        for container, at in containers_with_path(spec, path)
        if (container.get("securityContext") or {}).get("privileged")
    ]
    if any(_is_host_process(container, spec) for container in containers_of(spec)):
        errors.append(forbidden(path, "hostProcess containers are disallowed by cluster policy"))
    return errors


def _is_host_process(container: JsonObject, spec: JsonObject) -> bool:
    for part in (container, spec):
        options = (part.get("securityContext") or {}).get("windowsOptions") or {}
        if "hostProcess" in options:
            return bool(options["hostProcess"])
    return False
