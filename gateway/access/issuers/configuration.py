"""--authentication-config: an AuthenticationConfiguration, which lists token issuers and the paths for anonymous
requests (page "Authenticating", "Using Authentication Configuration"). An invalid file gets kube-apiserver's field
errors.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from gateway.access.issuers.settings import IssuerSettings, Mapping, ValidationRule
from gateway.jsontypes import JsonObject
from gateway.release.gates import Enabled
from gateway.settings.configuration_file import InvalidConfiguration, Leaf, read_configuration
from gateway.validation.names import is_dns1123_subdomain

ALGORITHMS = tuple(f"{kind}{size}" for kind in ("RS", "ES", "PS") for size in (256, 384, 512))
_MOST_ISSUERS = 64
_PREFIXED = {"claim": Leaf.TEXT, "prefix": Leaf.TEXT, "expression": Leaf.TEXT}
_SHAPE: dict[str, Any] = {
    "jwt": [
        {
            "issuer": {
                "url": Leaf.TEXT,
                "discoveryURL": Leaf.TEXT,
                "certificateAuthority": Leaf.TEXT,
                "audiences": [Leaf.TEXT],
                "audienceMatchPolicy": Leaf.TEXT,
                "egressSelectorType": Leaf.TEXT,
            },
            "claimValidationRules": [dict.fromkeys(("claim", "requiredValue", "expression", "message"), Leaf.TEXT)],
            "claimMappings": {
                "username": _PREFIXED,
                "groups": _PREFIXED,
                "uid": {"claim": Leaf.TEXT, "expression": Leaf.TEXT},
                "extra": [{"key": Leaf.TEXT, "valueExpression": Leaf.TEXT}],
            },
            "userValidationRules": [{"expression": Leaf.TEXT, "message": Leaf.TEXT}],
        }
    ],
    "anonymous": {"enabled": Leaf.BOOLEAN, "conditions": [{"path": Leaf.TEXT}]},
}
_VERSIONS = ("v1", "v1beta1", "v1alpha1")


@dataclass(frozen=True, slots=True)
class AuthenticationConfiguration:
    """The content of the file. `anonymous`: whether anonymous requests are allowed; None if the file does not say.
    `paths`: where they are allowed; None for all paths.
    """

    issuers: tuple[IssuerSettings, ...]
    anonymous: bool | None = None
    paths: frozenset[str] | None = None


def read_authentication(path: Path, disallowed: Sequence[str], enabled: Enabled) -> AuthenticationConfiguration:
    """Reads the configuration; its issuers may not be among the URLs of `disallowed`. `enabled` tells the edition of
    CEL. Raises OSError, InvalidConfiguration.
    """
    given = read_configuration(path, "AuthenticationConfiguration", _VERSIONS, _SHAPE)
    errors = list(_problems(given, disallowed, enabled))
    if errors:
        raise InvalidConfiguration("; ".join(errors))
    issuers = tuple(_issuer(each) for each in given.get("jwt") or ())
    anonymous = given.get("anonymous")
    if anonymous is None:
        return AuthenticationConfiguration(issuers)
    conditions = anonymous.get("conditions")
    paths = frozenset(each.get("path", "") for each in conditions) if conditions else None
    return AuthenticationConfiguration(issuers, anonymous.get("enabled", False), paths)


def _issuer(given: JsonObject) -> IssuerSettings:
    issuer, mappings = given["issuer"], given.get("claimMappings") or {}
    rules = given.get("claimValidationRules") or ()
    return IssuerSettings(
        issuer["url"],
        tuple(issuer["audiences"]),
        _mapping(mappings.get("username")),
        discovery_url=issuer.get("discoveryURL", ""),
        authority=issuer.get("certificateAuthority", ""),
        algorithms=ALGORITHMS,
        groups=_mapping(mappings.get("groups")),
        uid=_mapping(mappings.get("uid")),
        extra=tuple((each["key"], each["valueExpression"]) for each in mappings.get("extra") or ()),
        required_claims=tuple((each["claim"], each.get("requiredValue", "")) for each in rules if each.get("claim")),
        claim_rules=_rules(rules),
        user_rules=_rules(given.get("userValidationRules") or ()),
    )


def _rules(given: Sequence[JsonObject]) -> tuple[ValidationRule, ...]:
    return tuple(
        ValidationRule(each["expression"], each.get("message", "")) for each in given if each.get("expression")
    )


def _mapping(given: JsonObject | None) -> Mapping:
    given = given or {}
    return Mapping(given.get("claim", ""), given.get("prefix", ""), given.get("expression", ""))


def _problems(given: JsonObject, disallowed: Sequence[str], enabled: Enabled) -> Iterator[str]:
    issuers = given.get("jwt") or []
    if len(issuers) > _MOST_ISSUERS:
        yield f"jwt: Too many: {len(issuers)}: must have at most {_MOST_ISSUERS} items"
        return
    urls, discoveries = set[str](), set[str]()
    for index, each in enumerate(issuers):
        path, issuer = f"jwt[{index}]", each.get("issuer") or {}
        yield from _issuer_problems(f"{path}.issuer", issuer, disallowed)
        yield from _claim_rule_problems(f"{path}.claimValidationRules", each.get("claimValidationRules") or [], enabled)
        yield from _mapping_problems(path, each, enabled)
        rules = each.get("userValidationRules") or []
        yield from _rule_problems(f"{path}.userValidationRules", rules, "user", enabled)
        url, discovery = issuer.get("url", ""), issuer.get("discoveryURL", "")
        if url in urls:
            yield f'{path}.issuer.url: Duplicate value: "{url}"'
        if discovery and discovery in discoveries:
            yield f'{path}.issuer.discoveryURL: Duplicate value: "{discovery}"'
        urls.add(url)
        discoveries.add(discovery)
    anonymous = given.get("anonymous") or {}
    if not anonymous.get("enabled") and anonymous.get("conditions"):
        yield "anonymous.conditions: Invalid value: enabled should be set to true when conditions are defined"


def _issuer_problems(path: str, issuer: JsonObject, disallowed: Sequence[str]) -> Iterator[str]:
    url, discovery = issuer.get("url", ""), issuer.get("discoveryURL", "")
    if not url:
        yield f"{path}.url: Required value"
    elif url in disallowed:
        shown = f"[{' '.join(sorted(disallowed))}]"
        yield f'{path}.url: Invalid value: "{url}": URL must not overlap with disallowed issuers: {shown}'
    if url:
        yield from _url_problems(f"{path}.url", url)
    if discovery:
        if discovery.rstrip("/") == url.rstrip("/"):
            yield f'{path}.discoveryURL: Invalid value: "{discovery}": discoveryURL must be different from URL'
        yield from _url_problems(f"{path}.discoveryURL", discovery)
    yield from _audience_problems(path, issuer)
    if authority := issuer.get("certificateAuthority"):
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=authority)
        except (ssl.SSLError, ValueError):
            text = "data does not contain any valid RSA or ECDSA certificates"
            yield f'{path}.certificateAuthority: Invalid value: "<omitted>": {text}'
    if egress := issuer.get("egressSelectorType"):
        text = "egress selectors are not served: all calls are made directly"
        yield f'{path}.egressSelectorType: Invalid value: "{egress}": {text}'


def _url_problems(path: str, url: str) -> Iterator[str]:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises for a value that is not a port
    except ValueError as error:
        yield f'{path}: Invalid value: "{url}": {error}'
        return
    for wrong, text in (
        (parts.scheme != "https", "URL scheme must be https"),
        (parts.username is not None, "URL must not contain a username or password"),
        (bool(parts.query), "URL must not contain a query"),
        (bool(parts.fragment), "URL must not contain a fragment"),
    ):
        if wrong:
            yield f'{path}: Invalid value: "{url}": {text}'


def _audience_problems(path: str, issuer: JsonObject) -> Iterator[str]:
    audiences, policy = issuer.get("audiences") or [], issuer.get("audienceMatchPolicy", "")
    if not audiences:
        yield f"{path}.audiences: Required value: at least one {path}.audiences is required"
        return
    for index, audience in enumerate(audiences):
        if not audience:
            yield f"{path}.audiences[{index}]: Required value"
        if audience in audiences[:index]:
            yield f'{path}.audiences[{index}]: Duplicate value: "{audience}"'
    if len(audiences) > 1 and policy != "MatchAny":
        text = "audienceMatchPolicy must be MatchAny for multiple audiences"
        yield f'{path}.audienceMatchPolicy: Invalid value: "{policy}": {text}'
    elif policy not in ("", "MatchAny"):
        text = "audienceMatchPolicy must be empty or MatchAny for single audience"
        yield f'{path}.audienceMatchPolicy: Invalid value: "{policy}": {text}'


def _claim_rule_problems(path: str, rules: list[JsonObject], enabled: Enabled) -> Iterator[str]:
    seen = set[str]()
    for index, rule in enumerate(rules):
        at, claim, expression = f"{path}[{index}]", rule.get("claim", ""), rule.get("expression", "")
        if claim and expression:
            yield f'{at}: Invalid value: "{claim}": claim and expression can\'t both be set'
        elif not claim and not expression:
            yield f"{at}: Required value: claim or expression is required"
        elif claim:
            if rule.get("message"):
                text = "may not be specified when claim is set"
                yield f'{at}.message: Invalid value: "{rule["message"]}": {text}'
            if claim in seen:
                yield f'{at}.claim: Duplicate value: "{claim}"'
            seen.add(claim)
        elif rule.get("requiredValue"):
            text = "may not be specified when expression is set"
            yield f'{at}.requiredValue: Invalid value: "{rule["requiredValue"]}": {text}'
    yield from _rule_problems(path, rules, "claims", enabled)


def _rule_problems(path: str, rules: list[JsonObject], variable: str, enabled: Enabled) -> Iterator[str]:
    seen = set[str]()
    for index, rule in enumerate(rules):
        at, text = f"{path}[{index}].expression", rule.get("expression", "")
        if not text:
            if variable == "user":
                yield f"{at}: Required value"
            continue
        if text in seen:
            yield f'{at}: Duplicate value: "{text}"'
            continue
        seen.add(text)
        yield from _expression_problems(at, text, variable, enabled, true=True)


def _mapping_problems(path: str, given: JsonObject, enabled: Enabled) -> Iterator[str]:
    at, mappings = f"{path}.claimMappings", given.get("claimMappings") or {}
    yield from _prefixed_problems(f"{at}.username", mappings.get("username") or {}, enabled, required=True)
    yield from _prefixed_problems(f"{at}.groups", mappings.get("groups") or {}, enabled, required=False)
    uid = mappings.get("uid") or {}
    if uid.get("claim") and uid.get("expression"):
        yield f'{at}.uid: Invalid value: "": claim and expression can\'t both be set'
    elif uid.get("expression"):
        yield from _expression_problems(f"{at}.uid.expression", uid["expression"], "claims", enabled)
    seen = set[str]()
    for index, each in enumerate(mappings.get("extra") or ()):
        key, text = each.get("key", ""), each.get("valueExpression", "")
        yield from _key_problems(f"{at}.extra[{index}].key", key, seen)
        if not text:
            yield f"{at}.extra[{index}].valueExpression: Required value"
        else:
            yield from _expression_problems(f"{at}.extra[{index}].valueExpression", text, "claims", enabled)
        seen.add(key)
    yield from _unverified_mail(at, given, mappings)


def _unverified_mail(at: str, given: JsonObject, mappings: JsonObject) -> Iterator[str]:
    """An expression that takes the user name from claims.email must also look at claims.email_verified."""
    name = (mappings.get("username") or {}).get("expression", "")
    if not name:
        return
    from gateway.access.issuers.selects import selects

    others = [each.get("valueExpression", "") for each in mappings.get("extra") or ()]
    others += [each.get("expression", "") for each in given.get("claimValidationRules") or ()]
    if selects(name, "email") and not any(selects(text, "email_verified") for text in (name, *others) if text):
        places = (
            "claimMappings.username.expression or claimMappings.extra[*].valueExpression or "
            "claimValidationRules[*].expression"
        )
        when = "when claims.email is used in claimMappings.username.expression"
        text = f"claims.email_verified must be used in {places} {when}"
        yield f'{at}.username.expression: Invalid value: "{name}": {text}'


def _prefixed_problems(path: str, given: JsonObject, enabled: Enabled, *, required: bool) -> Iterator[str]:
    claim, expression = given.get("claim", ""), given.get("expression", "")
    if claim and expression:
        yield f'{path}: Invalid value: "": claim and expression can\'t both be set'
    elif expression:
        if given.get("prefix") is not None:
            text = "may not be specified when expression is set"
            yield f'{path}.prefix: Invalid value: "{given["prefix"]}": {text}'
        yield from _expression_problems(f"{path}.expression", expression, "claims", enabled)
    elif claim and given.get("prefix") is None:
        text = "prefix is required when claim is set. It can be set to an empty string to disable prefixing"
        yield f"{path}.prefix: Required value: {text}"
    elif required and not claim:
        yield f"{path}: Required value: claim or expression is required"


def _key_problems(path: str, key: str, seen: set[str]) -> Iterator[str]:
    domain, slash, rest = key.partition("/")
    if not slash or not rest or is_dns1123_subdomain(domain):
        yield f'{path}: Invalid value: "{key}": must be a domain-prefixed path (such as "acme.io/foo")'
    if key != key.lower():
        yield f'{path}: Invalid value: "{key}": must be lowercase'
    if slash and any(domain == each or domain.endswith(f".{each}") for each in ("kubernetes.io", "k8s.io")):
        text = "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use"
        yield f'{path}: Invalid value: "{key}": {text}'
    if key in seen:
        yield f'{path}: Duplicate value: "{key}"'


def _expression_problems(path: str, text: str, variable: str, enabled: Enabled, *, true: bool = False) -> Iterator[str]:
    from gateway.access.expressions import ExpressionError
    from gateway.access.issuers.programs import program

    try:
        program(text, variable, enabled, true=true)
    except ExpressionError as error:
        yield f'{path}: Invalid value: "{text}": {error}'
