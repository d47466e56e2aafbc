"""The user names and groups of service accounts."""

from __future__ import annotations

from gateway.validation.names import is_dns1123_label, is_dns1123_subdomain

PREFIX = "system:serviceaccount:"
_ALL_ACCOUNTS = "system:serviceaccounts"


def account_name(namespace: str, name: str) -> str:
    """The user name of a service account."""
    return f"{PREFIX}{namespace}:{name}"


def account_groups(namespace: str) -> tuple[str, ...]:
    """The groups that the service accounts of a namespace are in."""
    return (_ALL_ACCOUNTS, f"{_ALL_ACCOUNTS}:{namespace}")


def account_of(user: str) -> tuple[str, str] | None:
    """The namespace and the name in a service account's user name; None for other user names."""
    if not user.startswith(PREFIX):
        return None
    namespace, colon, name = user[len(PREFIX) :].partition(":")
    if not colon or ":" in name or is_dns1123_label(namespace) or is_dns1123_subdomain(name):
        return None
    return namespace, name
