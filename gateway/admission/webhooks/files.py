"""What --admission-control-config-file says of webhooks: WebhookAdmissionConfiguration.

Source: pages "Dynamic Admission Control" and "Manifest-Based Admission Control".

`kubeConfigFile` has as whom webhooks are called, `staticManifestsDir` configurations that no client can change.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway.admission.configuration import Document, InvalidConfiguration, Leaf, of_kind
from gateway.admission.webhooks.configuration import GROUP, Hooks
from gateway.jsontypes import JsonObject
from gateway.kinds.registry import Registry
from gateway.settings.configuration_file import GROUP as CONFIG_GROUP
from gateway.settings.configuration_file import load_yaml
from gateway.webhooks.client import ANONYMOUS, Identity, Webhooks

_KIND, _VERSIONS = "WebhookAdmissionConfiguration", (f"{CONFIG_GROUP}/v1",)
_SHAPE = {"kubeConfigFile": Leaf.TEXT, "staticManifestsDir": Leaf.TEXT}
_ENDINGS = (".yaml", ".yml", ".json")
_SUFFIX = ".static.k8s.io"
_HTTPS = 443


@dataclass(frozen=True, slots=True)
class Configured:
    """The configurations of files, and as whom each webhook is called."""

    manifests: tuple[JsonObject, ...] = ()
    identities: Identities | None = None


class Identities:
    """The users of a kubeconfig file, named by hosts: "hook.ns.svc", "example.org:8443", "*.example.org", "*"."""

    def __init__(self, users: dict[str, Identity]) -> None:
        self._users = users

    def __call__(self, host: str, port: int) -> Identity:
        """As whom a host is called: the most exact name counts."""
        names = [f"{host}:{port}", *([host] if port == _HTTPS else ())]
        for name in tuple(names):
            labels = name.split(".")
            names += [".".join(("*", *labels[i:])) for i in range(1, len(labels))]
        return next((self._users[name] for name in (*names, "*") if name in self._users), ANONYMOUS)


def configure(kind: str, document: Document) -> Configured:
    """What the part of a plug-in says whose webhooks are of a kind of configuration. Raises InvalidConfiguration."""
    given = of_kind(document, _KIND, _VERSIONS, _SHAPE)
    directory, kubeconfig = given.get("staticManifestsDir"), given.get("kubeConfigFile")
    try:
        return Configured(
            tuple(_manifests(kind, Path(directory))) if directory else (),
            Identities(_users(Path(kubeconfig))) if kubeconfig else None,
        )
    except OSError as error:
        raise InvalidConfiguration(f"{error.strerror}: {error.filename}") from None


def hooks_of(configured: object, registry: Registry, client: Webhooks) -> Hooks:
    """The webhooks of one sort, with what `configure` made for it, if anything."""
    if not isinstance(configured, Configured):
        return Hooks(registry, client)
    identified = client if configured.identities is None else client.identified(configured.identities)
    return Hooks(registry, identified, configured.manifests)


def _manifests(kind: str, directory: Path) -> Iterator[JsonObject]:
    """The configurations in a directory's files, as they would be stored. Raises OSError, InvalidConfiguration."""
    if not directory.is_absolute():
        raise InvalidConfiguration(f"staticManifestsDir: {directory}: must be an absolute path")
    seen = set[str]()
    for file in sorted(each for each in directory.iterdir() if each.suffix in _ENDINGS):
        found = load_yaml(file.read_bytes())
        documents = found.get("items") or () if isinstance(found, dict) and found.get("kind") == "List" else (found,)
        for document in documents:
            obj = _checked(kind, document, file)
            if (name := obj["metadata"]["name"]) in seen:
                raise InvalidConfiguration(f"{file}: {name} is there twice")
            seen.add(name)
            yield obj


def _checked(kind: str, document: Any, file: Path) -> JsonObject:
    """Decoded strictly, defaulted and validated like a client's object. Raises InvalidConfiguration."""
    from gateway.http.request_info import RequestInfo
    from gateway.http.user import ITSELF
    from gateway.kinds.attributes import Attributes  # what a start without manifests does not need
    from gateway.kinds.builtin import builtin_registry
    from gateway.kinds.write_context import WriteContext
    from gateway.schema.decode import DecodeError, DecodeReport

    resource = builtin_registry().by_kind(GROUP, "v1", kind)
    assert resource is not None
    if not isinstance(document, dict) or (document.get("kind"), document.get("apiVersion")) != (kind, f"{GROUP}/v1"):
        raise InvalidConfiguration(f"{file}: it must be of kind {kind} and apiVersion {GROUP}/v1")
    version, report = resource.model_version, DecodeReport()
    try:
        obj = version.decode(document, report)
    except DecodeError as error:
        raise InvalidConfiguration(f"{file}: {error}") from None
    if report.problems:
        raise InvalidConfiguration(f"{file}: strict decoding error: {', '.join(report.problems)}")
    obj["kind"], obj["apiVersion"] = kind, resource.api_version
    version.default(obj)
    name = obj["metadata"].get("name", "")
    if not name.endswith(_SUFFIX):
        raise InvalidConfiguration(f"{file}: metadata.name: {name!r} must end with {_SUFFIX!r}")
    context = WriteContext(Attributes(ITSELF, RequestInfo("create", "")), resource, name=name)
    if errors := resource.strategy.validate(obj, context):
        raise InvalidConfiguration(f"{file}: {errors[0]}")
    if any(hook["clientConfig"].get("url") is None for hook in obj.get("webhooks") or ()):
        raise InvalidConfiguration(f"{file}: clientConfig.url is required: services are not known at start")
    return obj


def _users(path: Path) -> dict[str, Identity]:
    """The users of a kubeconfig file, by name. Raises OSError, InvalidConfiguration."""
    config = load_yaml(path.read_bytes())
    if not isinstance(config, dict) or not isinstance(config.get("users") or [], list):
        raise InvalidConfiguration(f"kubeConfigFile: {path} is no kubeconfig")
    try:
        return {each["name"]: _identity(each.get("user") or {}, path.parent) for each in config.get("users") or ()}
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidConfiguration(f"kubeConfigFile: {path}: {error}") from None


def _identity(user: JsonObject, directory: Path) -> Identity:
    authorization = ""
    if token := user.get("token") or (user.get("tokenFile") and (directory / user["tokenFile"]).read_text().strip()):
        authorization = f"Bearer {token}"
    elif user.get("username"):
        pair = f"{user['username']}:{user.get('password', '')}"
        authorization = f"Basic {base64.b64encode(pair.encode()).decode()}"
    return Identity(
        _content(user, "client-certificate", directory), _content(user, "client-key", directory), authorization
    )


def _content(user: JsonObject, name: str, directory: Path) -> bytes:
    if data := user.get(f"{name}-data"):
        return base64.b64decode(data, validate=True)
    return (directory / user[name]).read_bytes() if user.get(name) else b""
