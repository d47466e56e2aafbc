"""The authenticator that the settings ask for."""

from __future__ import annotations

from gateway.access.authentication import TokenAuthenticator, read_token_file, with_authenticated
from gateway.config import Settings
from gateway.http.user import MASTERS_GROUP, User

ADMIN = User("kubernetes-admin", with_authenticated((MASTERS_GROUP,)), "kubernetes-admin")


def authenticator_of(settings: Settings) -> TokenAuthenticator:
    """Tokens of the file and the admin's; raises InvalidTokenFile."""
    users = read_token_file(settings.token_auth_file) if settings.token_auth_file else {}
    if settings.admin_token:
        users[settings.admin_token] = ADMIN
    return TokenAuthenticator(users, settings.anonymous_auth)
