"""The namespace controller's message for extension API servers whose discovery fails, in client-go's words."""

from __future__ import annotations

RESOURCE = "apiservices"


def discovery_failure(group_versions: list[str]) -> str:
    """The message for these group versions ("group/version"); "" if there are none."""
    if not group_versions:
        return ""
    each = ", ".join(f"{name}: stale GroupVersion discovery: {name}" for name in group_versions)
    failed = f"unable to retrieve the complete list of server APIs: {each}"
    return f"Discovery failed for some groups, {len(group_versions)} failing: {failed}"
