"""How messages show a whole struct: as JSON of Go's internal type, which has all fields under their Go names."""

from __future__ import annotations

from typing import Any

from gateway.jsontypes import JsonObject
from gateway.validation.field import Verbatim, go_value

# type -> (Go's name, JSON's name, value when absent or the type of a struct), in Go's order
_TYPES: dict[str, tuple[tuple[str, str, Any], ...]] = {
    "SecurityContext": (
        ("Capabilities", "capabilities", None),
        ("Privileged", "privileged", None),
        ("SELinuxOptions", "seLinuxOptions", None),
        ("WindowsOptions", "windowsOptions", None),
        ("RunAsUser", "runAsUser", None),
        ("RunAsGroup", "runAsGroup", None),
        ("RunAsNonRoot", "runAsNonRoot", None),
        ("ReadOnlyRootFilesystem", "readOnlyRootFilesystem", None),
        ("AllowPrivilegeEscalation", "allowPrivilegeEscalation", None),
        ("ProcMount", "procMount", None),
        ("SeccompProfile", "seccompProfile", None),
        ("AppArmorProfile", "appArmorProfile", None),
    ),
    "Capabilities": (("Add", "add", None), ("Drop", "drop", None)),
    "SELinuxOptions": (("User", "user", ""), ("Role", "role", ""), ("Type", "type", ""), ("Level", "level", "")),
    "WindowsOptions": (
        ("GMSACredentialSpecName", "gmsaCredentialSpecName", None),
        ("GMSACredentialSpec", "gmsaCredentialSpec", None),
        ("RunAsUserName", "runAsUserName", None),
        ("HostProcess", "hostProcess", None),
    ),
    "SeccompProfile": (("Type", "type", ""), ("LocalhostProfile", "localhostProfile", None)),
    "AppArmorProfile": (("Type", "type", ""), ("LocalhostProfile", "localhostProfile", None)),
}


def internal_json(type_name: str, value: JsonObject) -> Verbatim:
    """The JSON of `value` as a struct of that type."""
    parts = []
    for shown, key, absent in _TYPES[type_name]:
        member = value.get(key, absent)
        text = internal_json(shown, member) if isinstance(member, dict) and shown in _TYPES else go_value(member)
        parts.append(f'"{shown}":{text}')
    return Verbatim("{" + ",".join(parts) + "}")
