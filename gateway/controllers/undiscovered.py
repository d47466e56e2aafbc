"""What the namespace controller says of extension servers that do not tell what they serve, in client-go's words."""

from __future__ import annotations

RESOURCE = "apiservices"


def discovery_failure(group_versions: list[str]) -> str:
    """The failure in client-go's words; "" for no group versions."""
    if not group_versions:
        return ""
    each = ", ".join(f"{name}: stale GroupVersion discovery: {name}" for name in group_versions)
    failed = f"unable to retrieve the complete list of server APIs: {each}"
    return f"Discovery failed for some groups, {len(group_versions)} failing: {failed}"
