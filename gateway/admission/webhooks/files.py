"""WebhookAdmissionConfiguration: the configuration of the webhook plug-ins in --admission-control-config-file.

Source: pages "Dynamic Admission Control" and "Manifest-Based Admission Control".

`kubeConfigFile` has the credentials for webhooks, `staticManifestsDir` configurations that no client can change.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gateway.admission.chain import Kinds
from gateway.admission.configuration import Document, InvalidConfiguration, Leaf, of_kind
from gateway.admission.manifests import Manifests, Rules
from gateway.admission.webhooks.configuration import Hooks
from gateway.jsontypes import JsonObject
from gateway.kinds.registry import Registry
from gateway.settings.configuration_file import GROUP as CONFIG_GROUP
from gateway.settings.configuration_file import load_yaml
from gateway.validation.field import go_quote
from gateway.webhooks.client import ANONYMOUS, WebhookCredentials, Webhooks

_KIND, _VERSIONS = "WebhookAdmissionConfiguration", (f"{CONFIG_GROUP}/v1",)
_SHAPE = {"kubeConfigFile": Leaf.TEXT, "staticManifestsDir": Leaf.TEXT}
_HTTPS = 443


@dataclass(frozen=True, slots=True)
class Configured:
    """The webhook configurations from files, and the credentials for calls of webhooks."""

    manifests: Manifests | None = None
    identities: Identities | None = None


class Identities:
    """The users of a kubeconfig; their names are hosts: "hook.ns.svc", "example.org:8443", "*.example.org", "*"."""

    def __init__(self, users: dict[str, WebhookCredentials]) -> None:
        self._users = users

    def __call__(self, host: str, port: int) -> WebhookCredentials:
        """The credentials for a host and port. The most specific name counts."""
        names = [f"{host}:{port}", *([host] if port == _HTTPS else ())]
        for name in tuple(names):
            labels = name.split(".")
            names += [".".join(("*", *labels[i:])) for i in range(1, len(labels))]
        return next((self._users[name] for name in (*names, "*") if name in self._users), ANONYMOUS)


def configure(plugin: str, kind: str, document: Document, kinds: Kinds) -> Configured:
    """Reads the configuration of a plug-in; `kind` is that of its objects, such as MutatingWebhookConfiguration.

    Raises InvalidConfiguration.
    """
    given = of_kind(document, _KIND, _VERSIONS, _SHAPE)
    directory, kubeconfig = given.get("staticManifestsDir"), given.get("kubeConfigFile")
    try:
        return Configured(
            Manifests(plugin, directory, Rules(kinds, (kind,), _check)) if directory else None,
            Identities(_users(Path(kubeconfig))) if kubeconfig else None,
        )
    except OSError as error:
        raise InvalidConfiguration(f"{error.strerror}: {error.filename}") from None


def hooks_of(configured: object, registry: Registry, client: Webhooks) -> Hooks:
    """The webhooks of one plug-in. `configured` is what `configure` returned, or None without a configuration."""
    if not isinstance(configured, Configured):
        return Hooks(registry, client)
    identified = client if configured.identities is None else client.identified(configured.identities)
    return Hooks(registry, identified)


def _check(found: Sequence[JsonObject]) -> None:
    for configuration in found:
        for hook in configuration.get("webhooks") or ():
            what = f"webhook {go_quote(hook['name'])} in {go_quote(configuration['metadata']['name'])}"
            if hook["clientConfig"].get("service") is not None:
                said = "clientConfig.service is not supported for static manifests; use clientConfig.url instead"
                raise InvalidConfiguration(f"{what}: {said}")
            if not hook["clientConfig"].get("url"):
                raise InvalidConfiguration(f"{what}: clientConfig.url is required for static manifests")


def _users(path: Path) -> dict[str, WebhookCredentials]:
    """The users of a kubeconfig file, by name. Raises OSError, InvalidConfiguration."""
    config = load_yaml(path.read_bytes())
    if not isinstance(config, dict) or not isinstance(config.get("users") or [], list):
        raise InvalidConfiguration(f"kubeConfigFile: {path} is not a kubeconfig")
    try:
        return {each["name"]: _identity(each.get("user") or {}, path.parent) for each in config.get("users") or ()}
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidConfiguration(f"kubeConfigFile: {path}: {error}") from None


def _identity(user: JsonObject, directory: Path) -> WebhookCredentials:
    authorization = ""
    if token := user.get("token") or (user.get("tokenFile") and (directory / user["tokenFile"]).read_text().strip()):
        authorization = f"Bearer {token}"
    elif user.get("username"):
        pair = f"{user['username']}:{user.get('password', '')}"
        authorization = f"Basic {base64.b64encode(pair.encode()).decode()}"
    return WebhookCredentials(
        _content(user, "client-certificate", directory), _content(user, "client-key", directory), authorization
    )


def _content(user: JsonObject, name: str, directory: Path) -> bytes:
    if data := user.get(f"{name}-data"):
        return base64.b64decode(data, validate=True)
    return (directory / user[name]).read_bytes() if user.get(name) else b""
