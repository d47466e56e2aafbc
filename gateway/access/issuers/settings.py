"""The settings of an issuer, from flags or from a configuration file."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.settings.config import Settings


@dataclass(frozen=True, slots=True)
class Mapping:
    """The source of one attribute of the user: a claim, to which `prefix` is added, or a CEL expression."""

    claim: str = ""
    prefix: str = ""
    expression: str = ""

    def __bool__(self) -> bool:
        return bool(self.claim or self.expression)


@dataclass(frozen=True, slots=True)
class ValidationRule:
    """An expression that must be true, and the error message for when it is not."""

    expression: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class IssuerSettings:
    """An issuer: its URLs and CAs, the audiences that its tokens must have one of, and how claims become a user."""

    url: str
    audiences: tuple[str, ...]
    username: Mapping
    discovery_url: str = ""
    authority: str = ""  # CAs in PEM; "" means the host's CAs
    algorithms: tuple[str, ...] = ("RS256",)
    groups: Mapping = Mapping()
    uid: Mapping = Mapping()
    extra: tuple[tuple[str, str], ...] = ()  # keys, and the expressions of their values
    required_claims: tuple[tuple[str, str], ...] = ()
    claim_rules: tuple[ValidationRule, ...] = ()
    user_rules: tuple[ValidationRule, ...] = ()


def issuer_of_flags(settings: Settings) -> IssuerSettings | None:
    """The issuer of the --oidc flags; None without --oidc-issuer-url. Raises OSError, UnicodeDecodeError."""
    if not settings.oidc_issuer_url:
        return None
    claim, prefix = settings.oidc_username_claim, settings.oidc_username_prefix
    if prefix == "-":
        prefix = ""
    elif not prefix and claim != "email":
        prefix = f"{settings.oidc_issuer_url}#"
    authority = settings.oidc_ca_file.read_text(encoding="ascii") if settings.oidc_ca_file else ""
    pairs = (pair.partition("=") for pair in settings.oidc_required_claim)
    return IssuerSettings(
        settings.oidc_issuer_url,
        (settings.oidc_client_id,),
        Mapping(claim, prefix),
        authority=authority,
        algorithms=settings.oidc_signing_algs,
        groups=Mapping(settings.oidc_groups_claim, settings.oidc_groups_prefix),
        required_claims=tuple((name, value) for name, _, value in pairs),
    )
