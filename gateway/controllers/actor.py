"""Writes of controllers: each as the user of its service account, and only while its process is the leader."""

from __future__ import annotations

from gateway.http.user import AUTHENTICATED_GROUP, User
from gateway.writing.actor import MANAGER, Actor, Alter

__all__ = ["MANAGER", "Actor", "Alter", "controller_user"]

_ACCOUNTS = "system:serviceaccounts"


def controller_user(account: str) -> User:
    """The user of a service account of kube-system, as in kube-controller-manager."""
    name = f"system:serviceaccount:kube-system:{account}"
    return User(name, (_ACCOUNTS, f"{_ACCOUNTS}:kube-system", AUTHENTICATED_GROUP))
