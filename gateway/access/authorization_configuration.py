"""--authorization-config: an AuthorizationConfiguration, which lists the authorizers in order (page "Authorization
overview", "Using configuration files for authorization"). An invalid file gets kube-apiserver's field errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gateway.access.authorization_webhook import WebhookSettings
from gateway.jsontypes import JsonObject
from gateway.release.gates import Enabled
from gateway.settings.config import AUTHORIZATION_MODES
from gateway.settings.configuration_file import InvalidConfiguration, Leaf, read_configuration
from gateway.validation.names import is_dns1123_subdomain

_MOST_CONDITIONS = 64
_LONGEST_TIMEOUT = 30.0
_TTLS = {"authorizedTTL": 300.0, "unauthorizedTTL": 30.0}
_WEBHOOK = {
    "authorizedTTL": Leaf.DURATION,
    "cacheAuthorizedRequests": Leaf.BOOLEAN,
    "unauthorizedTTL": Leaf.DURATION,
    "cacheUnauthorizedRequests": Leaf.BOOLEAN,
    "timeout": Leaf.DURATION,
    "subjectAccessReviewVersion": Leaf.TEXT,
    "matchConditionSubjectAccessReviewVersion": Leaf.TEXT,
    "failurePolicy": Leaf.TEXT,
    "connectionInfo": {"type": Leaf.TEXT, "kubeConfigFile": Leaf.TEXT},
    "matchConditions": [{"expression": Leaf.TEXT}],
}
_SHAPE = {"authorizers": [{"type": Leaf.TEXT, "name": Leaf.TEXT, "webhook": _WEBHOOK}]}
_VERSIONS = ("v1", "v1beta1", "v1alpha1")


@dataclass(frozen=True, slots=True)
class AuthorizerSettings:
    """One authorizer: its mode and its name; the webhook's settings, if the mode is Webhook."""

    mode: str
    name: str
    webhook: WebhookSettings | None = None


def read_authorizers(path: Path, enabled: Enabled) -> list[AuthorizerSettings]:
    """The authorizers of a file; `enabled` selects the edition of CEL. Raises OSError, InvalidConfiguration."""
    given = read_configuration(path, "AuthorizationConfiguration", _VERSIONS, _SHAPE).get("authorizers") or []
    errors = list(_problems(given, enabled))
    if errors:
        raise InvalidConfiguration("; ".join(errors))
    return [
        AuthorizerSettings(each["type"], each["name"], _webhook(each) if each.get("webhook") else None)
        for each in given
    ]


def _webhook(authorizer: JsonObject) -> WebhookSettings:
    given = authorizer["webhook"]
    ttl = {name: given.get(name) or default for name, default in _TTLS.items()}
    return WebhookSettings(
        Path(given["connectionInfo"]["kubeConfigFile"]),
        given["subjectAccessReviewVersion"],
        given["timeout"],
        ttl["authorizedTTL"] if given.get("cacheAuthorizedRequests", True) else 0.0,
        ttl["unauthorizedTTL"] if given.get("cacheUnauthorizedRequests", True) else 0.0,
        given["failurePolicy"] == "Deny",
        tuple(each["expression"] for each in given.get("matchConditions") or ()),
        authorizer["name"],
    )


def _problems(given: list[JsonObject], enabled: Enabled) -> Iterator[str]:
    if not given:
        yield "authorizers: Required value: at least one authorization mode must be defined"
    modes, names = set[str](), set[str]()
    for index, each in enumerate(given):
        path, mode, name = f"authorizers[{index}]", each.get("type", ""), each.get("name", "")
        if not mode:
            yield f"{path}.type: Required value"
            continue
        if mode not in AUTHORIZATION_MODES:
            yield f'{path}.type: Unsupported value: "{mode}": supported values: {_listed(AUTHORIZATION_MODES)}'
            continue
        if mode in modes and mode != "Webhook":
            yield f'{path}.type: Duplicate value: "{mode}"'
            continue
        modes.add(mode)
        if not name:
            yield f"{path}.name: Required value"
        elif name in names:
            yield f'{path}.name: Duplicate value: "{name}"'
        elif problems := is_dns1123_subdomain(name):
            yield f'{path}.name: Invalid value: "{name}": authorizer name is invalid: {", ".join(problems)}'
        names.add(name)
        webhook = each.get("webhook")
        if mode == "Webhook":
            required = f"{path}.webhook: Required value: required when type=Webhook"
            yield from [required] if webhook is None else _webhook_problems(path, webhook, enabled)
        elif webhook is not None:
            yield f'{path}.webhook: Invalid value: "non-null": may only be specified when type=Webhook'


def _webhook_problems(path: str, given: JsonObject, enabled: Enabled) -> Iterator[str]:
    timeout = given.get("timeout", 0)
    if not timeout:
        yield f"{path}.timeout: Required value"
    elif not 0 < timeout <= _LONGEST_TIMEOUT:
        yield f'{path}.timeout: Invalid value: "{timeout:g}s": must be > 0s and <= 30s'
    for name, default in _TTLS.items():
        if (ttl := given.get(name) or default) < 0:
            yield f'{path}.{name}: Invalid value: "{ttl:g}s": must be > 0s'
    conditions = given.get("matchConditions") or []
    yield from _one_of(path, given, "subjectAccessReviewVersion", ("v1", "v1beta1"))
    if conditions and not given.get("matchConditionSubjectAccessReviewVersion"):
        required = "required if match conditions are specified"
        yield f"{path}.matchConditionSubjectAccessReviewVersion: Required value: {required}"
    elif given.get("matchConditionSubjectAccessReviewVersion"):
        yield from _one_of(path, given, "matchConditionSubjectAccessReviewVersion", ("v1",))
    yield from _one_of(path, given, "failurePolicy", ("NoOpinion", "Deny"))
    yield from _connection_problems(f"{path}.connectionInfo", given.get("connectionInfo") or {})
    yield from _condition_problems(f"{path}.matchConditions", conditions, enabled)


def _connection_problems(path: str, given: JsonObject) -> Iterator[str]:
    kind, file = given.get("type", ""), given.get("kubeConfigFile")
    yield from _one_of(path, given, "type", ("InClusterConfig", "KubeConfigFile"))
    if kind == "InClusterConfig":
        yield f'{path}.type: Invalid value: "{kind}": an API server does not ask itself; use KubeConfigFile'
    if kind != "KubeConfigFile":
        return
    path = f"{path}.kubeConfigFile"
    if not file:
        yield f"{path}: Required value"
    elif not Path(file).is_absolute():
        yield f'{path}: Invalid value: "{file}": must be an absolute path'
    elif not Path(file).exists():
        reason = f"error loading file: stat {file}: no such file or directory"
        yield f'{path}: Invalid value: "{file}": {reason}'
    elif not Path(file).is_file():
        yield f'{path}: Invalid value: "{file}": must be a regular file'


def _condition_problems(path: str, conditions: list[JsonObject], enabled: Enabled) -> Iterator[str]:
    if len(conditions) > _MOST_CONDITIONS:
        yield f"{path}: Too many: {len(conditions)}: must have at most {_MOST_CONDITIONS} items"
        return
    from gateway.access.authorization_conditions import compiled_condition
    from gateway.access.expressions import ExpressionError

    seen = set[str]()
    for index, each in enumerate(conditions):
        at, text = f"{path}[{index}].expression", each.get("expression", "")
        if not text.strip():
            yield f"{at}: Required value"
        elif text in seen:
            yield f'{at}: Duplicate value: "{text}"'
        else:
            try:
                compiled_condition(text, enabled)
            except ExpressionError as error:
                yield f'{at}: Invalid value: "{text}": {error}'
        seen.add(text)


def _one_of(path: str, given: JsonObject, name: str, allowed: tuple[str, ...]) -> Iterator[str]:
    value = given.get(name, "")
    if not value:
        yield f"{path}.{name}: Required value"
    elif value not in allowed:
        yield f'{path}.{name}: Unsupported value: "{value}": supported values: {_listed(allowed)}'


def _listed(values: tuple[str, ...]) -> str:
    return ", ".join(f'"{value}"' for value in sorted(values))
