"""Makes a user from a token's claims, by claim names or CEL expressions (page "Authenticating", "Using Authentication
Configuration"). Errors have kube-apiserver's messages.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gateway.access.issuers.settings import IssuerSettings, Mapping, ValidationRule
from gateway.http.user import User, extra_of
from gateway.jsontypes import JsonObject
from gateway.validation.field import go_quote

if TYPE_CHECKING:
    from gateway.cel.program import Program
    from gateway.release.gates import Enabled

CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"


class ClaimError(Exception):
    """No user can be made from the claims, or a rule refuses them; the message says why."""


class Mapper:
    """Makes users from the claims of one issuer's tokens."""

    def __init__(self, settings: IssuerSettings, enabled: Enabled) -> None:
        """`enabled` selects the edition of CEL. Raises gateway.access.expressions.ExpressionError."""
        self._settings = settings
        about_claims = _compiler("claims", enabled)
        self._username = about_claims(settings.username.expression)
        self._groups = about_claims(settings.groups.expression)
        self._uid = about_claims(settings.uid.expression)
        self._extra = [(key, about_claims(text)) for key, text in settings.extra]
        self._claim_rules = [(rule, about_claims(rule.expression, true=True)) for rule in settings.claim_rules]
        about_users = _compiler("user", enabled)
        self._user_rules = [(rule, about_users(rule.expression, true=True)) for rule in settings.user_rules]

    def user(self, claims: JsonObject) -> User:
        """The user of verified claims, after all rules were checked. Raises ClaimError."""
        settings = self._settings
        variables = {"claims": _shown(claims)} if self._has_expressions() else {}
        name = self._name(claims, variables)
        groups = self._groups_of(claims, variables)
        uid = self._uid_of(claims, variables)
        user = User(name, groups, uid, extra_of(self._extra_of(claims, variables)))
        for claim, wanted in settings.required_claims:
            if claim not in claims:
                raise ClaimError(f"oidc: required claim {claim} not present in ID token")
            if claims[claim] != wanted:
                shown = f"Got = {claims[claim]}, want = {wanted}"
                raise ClaimError(f"oidc: required claim {claim} value does not match. {shown}")
        _check(self._claim_rules, variables, "claim validation expression")
        if self._user_rules:
            shown_user: JsonObject = {"username": name, "uid": uid, "groups": list(groups)}
            shown_user["extra"] = {key: list(values) for key, values in user.extra}
            _check(self._user_rules, {"user": shown_user}, "user info validation rule")
        return user

    def _has_expressions(self) -> bool:
        return any((self._username, self._groups, self._uid, self._extra, self._claim_rules))

    def _name(self, claims: JsonObject, variables: JsonObject) -> str:
        if self._username is not None:
            found = _value(self._username, variables, "username claim expression")
            if not isinstance(found, str):
                text = "username claim expression must return a string"
                raise ClaimError(f"oidc: error evaluating username claim expression: {text}")
            if not found:
                raise ClaimError("oidc: empty username via CEL expression is not allowed")
            return found
        mapping = self._settings.username
        name = _text_claim(claims, mapping, "username claims")
        if mapping.claim == "email" and "email_verified" in claims and claims["email_verified"] is not True:
            if claims["email_verified"] is False:
                raise ClaimError("oidc: email not verified")
            raise ClaimError("oidc: parse 'email_verified' claim: it is not a boolean")
        return mapping.prefix + name

    def _groups_of(self, claims: JsonObject, variables: JsonObject) -> tuple[str, ...]:
        mapping = self._settings.groups
        if self._groups is not None:
            return _texts(_value(self._groups, variables, "group claim expression"), "group claim expression")
        if not mapping.claim or mapping.claim not in claims:
            return ()
        found = claims[mapping.claim]
        groups = [found] if isinstance(found, str) else found
        if groups is None:
            return ()
        if not isinstance(groups, list) or not all(isinstance(each, str) for each in groups):
            what = "it is neither a string nor a list of strings"
            raise ClaimError(f"oidc: parse groups claim {go_quote(mapping.claim)}: {what}")
        return tuple(mapping.prefix + each for each in groups)

    def _uid_of(self, claims: JsonObject, variables: JsonObject) -> str:
        if self._uid is not None:
            found = _value(self._uid, variables, "uid claim expression")
            if not isinstance(found, str):
                text = "uid claim expression must return a string"
                raise ClaimError(f"oidc: error evaluating uid claim expression: {text}")
            return found
        return _text_claim(claims, self._settings.uid, "uid claim") if self._settings.uid.claim else ""

    def _extra_of(self, claims: JsonObject, variables: JsonObject) -> dict[str, tuple[str, ...]]:
        extra: dict[str, tuple[str, ...]] = {}
        if isinstance(identity := claims.get("jti"), str) and identity:
            extra[CREDENTIAL_ID] = (f"JTI={identity}",)
        for key, program in self._extra:
            assert program is not None
            values = _texts(_value(program, variables, "extra claim expression"), "extra claim expression")
            if values:
                extra[key] = values
        return extra


def _compiler(variable: str, enabled: Enabled) -> Callable[..., Program | None]:
    """A function that compiles expressions over one variable; it returns None for "", an expression that is not set."""

    def compiled(text: str, true: bool = False) -> Program | None:
        if not text:
            return None
        from gateway.access.issuers.programs import program

        return program(text, variable, enabled, true=true)

    return compiled


def _value(program: Program, variables: JsonObject, what: str) -> Any:
    from gateway.access.expressions import ExpressionError, value_of

    try:
        return value_of(program, variables)
    except ExpressionError as error:
        raise ClaimError(f"oidc: error evaluating {what}: {error}") from None


def _check(rules: list[tuple[ValidationRule, Program | None]], variables: JsonObject, what: str) -> None:
    for rule, program in rules:
        assert program is not None
        if _value(program, variables, what) is not True:
            text = f"validation expression '{rule.expression}' failed: {rule.message}"
            raise ClaimError(f"oidc: error evaluating {what}: {text}")


def _text_claim(claims: JsonObject, mapping: Mapping, what: str) -> str:
    found = claims.get(mapping.claim)
    if not isinstance(found, str):
        problem = "it is not a string" if mapping.claim in claims else "claim not present"
        raise ClaimError(f"oidc: parse {what} {go_quote(mapping.claim)}: {problem}")
    return found


def _texts(value: Any, what: str) -> tuple[str, ...]:
    if value is None:
        return ()
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
        raise ClaimError(f"oidc: error evaluating {what}: expression must return a string or a list of strings")
    return tuple(each for each in values if each)


def _shown(claims: JsonObject) -> JsonObject:
    """The claims as expressions see them: numbers are doubles, and a claim whose name is not a CEL identifier also has
    its escaped name.
    """
    from gateway.cel.names import escape

    found: JsonObject = _doubled(claims)
    escaped = {written: value for name, value in found.items() if (written := escape(name)) and written != name}
    return escaped | found


def _doubled(value: Any) -> Any:
    match value:
        case bool():
            return value
        case int():
            return float(value)
        case list():
            return [_doubled(each) for each in value]
        case dict():
            return {name: _doubled(each) for name, each in value.items()}
    return value
