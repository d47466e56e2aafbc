"""Makes the authenticator of a server from its settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gateway.access.authentication import (
    AudienceAgnostic,
    Authenticated,
    Authenticator,
    TokenAuthenticator,
    with_authenticated,
)
from gateway.access.bootstrap_tokens import BootstrapTokens
from gateway.access.client_certificates import certificate_authenticators
from gateway.access.file_reload import Followed, Following
from gateway.access.keys import signing_key, verification_keys
from gateway.access.legacy_uses import LegacyUses
from gateway.access.service_account_tokens import ServiceAccountTokens, Signer
from gateway.access.token_file import StaticTokens, read_token_file
from gateway.http.user import MASTERS_GROUP, User
from gateway.settings.config import Settings
from gateway.settings.release import chosen_release

if TYPE_CHECKING:
    from gateway.access.issuers.configuration import AuthenticationConfiguration
    from gateway.access.issuers.tokens import IssuerTokens
    from gateway.access.object_reader import ObjectReader
    from gateway.release.gates import Enabled

ADMIN = with_authenticated(User("kubernetes-admin", (MASTERS_GROUP,), "kubernetes-admin"))


def authenticator_of(
    settings: Settings, objects: ObjectReader, following: Following, uses: LegacyUses
) -> Authenticator:
    """The authenticator of client certificates and of all configured kinds of tokens: static (the admin's included),
    service accounts', bootstrap, of OIDC issuers, by webhook.

    `following` reloads their CAs, keys and configuration when the files change. Raises InvalidTokenFile, OSError,
    ValueError.
    """
    users = read_token_file(settings.token_auth_file) if settings.token_auth_file else {}
    if settings.admin_token:
        users[settings.admin_token] = ADMIN
    audiences = api_audiences(settings)
    accounts = _accounts(settings, audiences, objects, following, uses)
    static = StaticTokens(users)
    tokens: list[TokenAuthenticator] = [AudienceAgnostic(static, audiences), accounts]
    if settings.enable_bootstrap_token_auth:
        tokens.append(AudienceAgnostic(BootstrapTokens(objects), audiences))
    issuers = _issuers(settings)
    if issuers is not None:
        tokens.append(AudienceAgnostic(issuers, audiences))
    if settings.authentication_token_webhook_config_file:
        tokens.append(_webhook(settings, audiences))
    certificates, followed = certificate_authenticators(settings)
    authenticator = Authenticator(
        tokens, audiences, certificates=certificates, anonymous=settings.anonymous_users, known=static.headers
    )
    for each in followed:
        following.add(each)
    if settings.authentication_config and issuers is not None:
        issuers.let_anonymous_in(authenticator)
        following.add(
            Followed(
                "--authentication-config", (settings.authentication_config,), lambda: issuers.reload(authenticator)
            )
        )
    return authenticator


def api_audiences(settings: Settings) -> tuple[str, ...]:
    """The API server's own audiences: --api-audiences; without the flag, --service-account-issuer."""
    return settings.api_audiences or settings.service_account_issuer


def signer_of(settings: Settings) -> Signer:
    """The signer of service account tokens, for the first --service-account-issuer."""
    return Signer(settings.service_account_issuer[0], signing_key(settings))


def _accounts(
    settings: Settings, audiences: Sequence[str], objects: ObjectReader, following: Following, uses: LegacyUses
) -> ServiceAccountTokens:
    accounts = ServiceAccountTokens(
        settings.service_account_issuer,
        lambda: verification_keys(settings),
        audiences,
        objects,
        lookup=settings.service_account_lookup,
        uses=uses,
    )
    if paths := settings.service_account_key_file:
        following.add(
            Followed("--service-account-key-file", paths, lambda: accounts.replace(verification_keys(settings)))
        )
    return accounts


class Issuers:
    """Authenticates by the tokens of all OIDC issuers of a configuration, which can be reloaded."""

    def __init__(self, read: Callable[[], AuthenticationConfiguration], anonymous: bool, enabled: Enabled) -> None:
        """`anonymous` is the default of the configuration's field; `enabled` selects the edition of CEL.

        Raises OSError, ValueError.
        """
        self._read, self._otherwise, self._enabled = read, anonymous, enabled
        self._tokens: list[IssuerTokens] = []
        self._configuration = self._take()

    async def authenticate(self, token: str, audiences: Sequence[str]) -> Authenticated | None:
        """The user of a token; None if its issuer is not configured. Raises InvalidCredentials."""
        for each in self._tokens:
            found = await each.authenticate(token, audiences)
            if found is not None:
                return found
        return None

    def let_anonymous_in(self, authenticator: Authenticator) -> None:
        """Tells the authenticator whether, and on which paths, the configuration allows anonymous requests."""
        anonymous = self._configuration.anonymous
        authenticator.let_anonymous_in(self._otherwise if anonymous is None else anonymous, self._configuration.paths)

    def reload(self, authenticator: Authenticator) -> None:
        """Reloads the configuration; an issuer with the same settings keeps its caches. Raises OSError, ValueError."""
        self._configuration = self._take()
        self.let_anonymous_in(authenticator)

    def _take(self) -> AuthenticationConfiguration:
        from gateway.access.issuers.tokens import IssuerTokens

        wanted = self._read()
        known = {each.settings: each for each in self._tokens}
        self._tokens = [known.get(each) or IssuerTokens(each, self._enabled) for each in wanted.issuers]
        return wanted


def _issuers(settings: Settings) -> Issuers | None:
    path = settings.authentication_config
    if path is None and not settings.oidc_issuer_url:
        return None
    from gateway.access.issuers.configuration import AuthenticationConfiguration, read_authentication
    from gateway.access.issuers.settings import issuer_of_flags

    enabled = chosen_release(settings).gates.enabled
    if path is not None:
        file, own = path, settings.service_account_issuer
        return Issuers(lambda: read_authentication(file, own, enabled), settings.anonymous_users, enabled)
    issuer = issuer_of_flags(settings)
    assert issuer is not None
    return Issuers(lambda: AuthenticationConfiguration((issuer,)), settings.anonymous_users, enabled)


def _webhook(settings: Settings, audiences: Sequence[str]) -> TokenAuthenticator:
    from gateway.access.remote import Remote, read_place
    from gateway.access.token_webhook import WebhookTokens

    assert settings.authentication_token_webhook_config_file is not None
    remote = Remote(read_place(settings.authentication_token_webhook_config_file))
    version = settings.authentication_token_webhook_version
    return WebhookTokens(remote, version, audiences, settings.authentication_token_webhook_cache_ttl)
