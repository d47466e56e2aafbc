"""The authenticator that the settings ask for."""

from __future__ import annotations

from gateway.access.authentication import Authenticator, TokenAuthenticator, with_authenticated
from gateway.access.bootstrap_tokens import BootstrapTokens
from gateway.access.client_certificates import certificate_authenticators
from gateway.access.keys import signing_key, verification_keys
from gateway.access.service_account_tokens import Objects, ServiceAccountTokens, Signer
from gateway.access.token_file import StaticTokens, read_token_file
from gateway.config import Settings
from gateway.http.user import MASTERS_GROUP, User

ADMIN = with_authenticated(User("kubernetes-admin", (MASTERS_GROUP,), "kubernetes-admin"))


def authenticator_of(settings: Settings, objects: Objects) -> Authenticator:
    """Tokens of the file and the admin's, service accounts', bootstrap tokens, certificates.

    Raises InvalidTokenFile, OSError, ValueError.
    """
    users = read_token_file(settings.token_auth_file) if settings.token_auth_file else {}
    if settings.admin_token:
        users[settings.admin_token] = ADMIN
    audiences = api_audiences(settings)
    accounts = ServiceAccountTokens(
        settings.service_account_issuer,
        verification_keys(settings),
        audiences,
        objects,
        lookup=settings.service_account_lookup,
    )
    static = StaticTokens(users)
    tokens: list[TokenAuthenticator] = [static, accounts]
    if settings.enable_bootstrap_token_auth:
        tokens.append(BootstrapTokens(objects))
    return Authenticator(
        tokens,
        audiences,
        certificates=certificate_authenticators(settings),
        anonymous=settings.anonymous_auth,
        known=static.headers,
    )


def api_audiences(settings: Settings) -> tuple[str, ...]:
    """Who tokens for this API server are meant for: --api-audiences, or the issuers."""
    return settings.api_audiences or settings.service_account_issuer


def signer_of(settings: Settings) -> Signer:
    """What signs service account tokens."""
    return Signer(settings.service_account_issuer[0], signing_key(settings))
