"""--encryption-provider-config: an EncryptionConfiguration ("Encrypting Confidential Data at Rest")."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from gateway.jsontypes import JsonObject, dumps_plain
from gateway.settings.configuration_file import InvalidConfiguration, Leaf, read_configuration

ANY = ("*", "*")

_KEYS = {"keys": [{"name": Leaf.TEXT, "secret": Leaf.TEXT}]}
_KMS = {
    "apiVersion": Leaf.TEXT,
    "name": Leaf.TEXT,
    "cachesize": Leaf.INTEGER,
    "endpoint": Leaf.TEXT,
    "timeout": Leaf.DURATION,
}
_PROVIDER = {"aesgcm": _KEYS, "aescbc": _KEYS, "secretbox": _KEYS, "identity": {}, "kms": _KMS}
_SHAPE = {"resources": [{"resources": [Leaf.TEXT], "providers": [_PROVIDER]}]}
KEY_SIZES = {"aesgcm": (16, 24, 32), "aescbc": (16, 24, 32), "secretbox": (32,)}
KMS_TIMEOUT = 3.0  # seconds
_NO_REST = ("apiserveripinfo", "serviceipallocations", "servicenodeportallocations")
KMS_V1 = "KMS v1 is deprecated, off by default in kube-apiserver and not supported here: use apiVersion v2"

Place = tuple[str, str]  # group and resource; "*" for all


@dataclass(frozen=True, slots=True)
class EncryptionKey:
    """A named key."""

    name: str
    secret: bytes

    def __repr__(self) -> str:
        """The text without the secret, so that no traceback shows it."""
        return f"Key({self.name!r})"


@dataclass(frozen=True, slots=True)
class Kms:
    """A key management service: its name, the path of its Unix socket, and the timeout of a call in seconds."""

    name: str
    path: str
    timeout: float


@dataclass(frozen=True, slots=True)
class ProviderRule:
    """A provider of a kind ("aesgcm", …, "identity", "kms") with its keys or its service."""

    kind: str
    keys: tuple[EncryptionKey, ...] = ()
    kms: Kms | None = None


@dataclass(frozen=True, slots=True)
class ResourceConfiguration:
    """The providers of some resources; the first one encrypts."""

    places: tuple[Place, ...]
    providers: tuple[ProviderRule, ...]


def read_rules(path: Path) -> tuple[ResourceConfiguration, ...]:
    """The rules of the file, in its order. Raises OSError, InvalidConfiguration."""
    found = read_configuration(path, "EncryptionConfiguration", ("v1",), _SHAPE)
    resources = found.get("resources") or []
    if not resources:
        raise InvalidConfiguration("resources: Required value: at least one resources is required")
    names: set[str] = set()
    rules = tuple(_rule(each, f"resources[{index}]", names) for index, each in enumerate(resources))
    _check_masked(rules)
    return rules


def place_of(name: str) -> Place:
    """The group and resource of a name such as `secrets`, `deployments.apps` or `*.`."""
    resource, _, group = name.partition(".")
    return group, resource


def _rule(given: JsonObject, path: str, names: set[str]) -> ResourceConfiguration:
    resources, providers = given.get("resources") or [], given.get("providers") or []
    if not resources:
        raise InvalidConfiguration(f"{path}.resources: Required value: at least one {path}.resources is required")
    _check_overlap(resources, f"{path}.resources")
    for index, name in enumerate(resources):
        if wrong := _wrong_resource(name):
            raise InvalidConfiguration(f'{path}.resources[{index}]: Invalid value: "{name}": {wrong}')
    if not providers:
        raise InvalidConfiguration(f"{path}.providers: Required value: at least one {path}.providers is required")
    made = tuple(_provider(each, f"{path}.providers[{index}]", names) for index, each in enumerate(providers))
    return ResourceConfiguration(tuple(map(place_of, resources)), made)


def _wrong_resource(name: str) -> str:
    group, resource = place_of(name)
    checks: tuple[tuple[bool, str], ...] = (
        (name != name.lower(), "resource name should not contain capital letters"),
        (name == "*", "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources"),
        (name in _NO_REST, "resources which do not have REST API/s cannot be encrypted"),
        (
            group == "events.k8s.io",
            "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. "
            "Use 'events' instead in the config file",
        ),
        (group == "extensions", "'extensions' group has been removed and cannot be used for encryption"),
        (group == "*" and resource != "*", "encrypting the same resource across groups is not supported"),
    )
    return next((text for wrong, text in checks if wrong), "")


def _check_overlap(names: list[str], path: str) -> None:
    places = [place_of(name) for name in names]
    shown = dumps_plain(names).decode()
    if len(set(places)) < len(places):
        text = "the same resource cannot be specified multiple times"
        raise InvalidConfiguration(f"{path}: Invalid value: {shown}: {text}")
    whole = {group for group, resource in places if resource == "*"}
    if len(places) > 1 and (ANY in places or any(group in whole and name != "*" for group, name in places)):
        text = (
            "using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as "
            "they will be masked"
        )
        raise InvalidConfiguration(f"{path}: Invalid value: {shown}: {text}")


def _check_masked(rules: tuple[ResourceConfiguration, ...]) -> None:
    """Raises InvalidConfiguration for a resource after a rule for its whole group, or for all resources."""
    seen: set[Place] = set()
    for rule in rules:
        for group, resource in rule.places:
            for earlier in ((group, "*"), ANY):
                if earlier in seen:
                    name = f'resource "{_shown((group, resource))}" is masked by earlier rule "{_shown(earlier)}"'
                    raise InvalidConfiguration(name)
        seen |= set(rule.places)


def _shown(place: Place) -> str:
    group, resource = place
    return f"{resource}.{group}" if group or resource == "*" else resource


def _provider(given: JsonObject, path: str, names: set[str]) -> ProviderRule:
    if not given:
        expected = "KMS, AESGCM, AESCBC, Secretbox, Identity"
        raise InvalidConfiguration(f"{path}: provider does not contain any of the expected providers: {expected}")
    if len(given) > 1:
        text = "more than one provider specified in a single element, should split into different list elements"
        raise InvalidConfiguration(f"{path}: {text}")
    (kind,) = given
    if kind == "identity":
        return ProviderRule(kind)
    if kind == "kms":
        return ProviderRule(kind, kms=_kms(given[kind], f"{path}.kms", names))
    keys, below = given[kind].get("keys") or [], f"{path}.{kind}.keys"
    if not keys:
        raise InvalidConfiguration(f"{below}: Required value: at least one keys is required")
    made = tuple(_key(each, f"{below}[{index}]", KEY_SIZES[kind]) for index, each in enumerate(keys))
    return ProviderRule(kind, made)


def _key(given: JsonObject, path: str, sizes: tuple[int, ...]) -> EncryptionKey:
    for member in ("name", "secret"):
        if not given.get(member):
            raise InvalidConfiguration(f"{path}.{member}: Required value: {member} is a mandatory field for a key")
    try:
        secret = base64.b64decode("".join(given["secret"].split()), validate=True)
    except (binascii.Error, ValueError):
        raise InvalidConfiguration(
            f'{path}.secret: Invalid value: "REDACTED": secrets must be base64 encoded'
        ) from None
    if len(secret) not in sizes:
        text = f"secret is not of the expected length, got {len(secret)}, expected one of [{' '.join(map(str, sizes))}]"
        raise InvalidConfiguration(f'{path}.secret: Invalid value: "REDACTED": {text}')
    return EncryptionKey(given["name"], secret)


def _kms(given: JsonObject, path: str, names: set[str]) -> Kms:
    def check(wrong: bool, field: str, text: str, show: Callable[[], object] = lambda: "") -> None:
        if wrong:
            raise InvalidConfiguration(f'{path}.{field}: Invalid value: "{show()}": {text}')

    name, endpoint, timeout = given.get("name", ""), given.get("endpoint", ""), given.get("timeout", KMS_TIMEOUT)
    version = given.get("apiVersion") or "v1"
    check(version == "v1", "apiVersion", KMS_V1, lambda: version)
    unsupported = f"unsupported apiVersion {version} for KMS provider, only v2 is supported"
    check(version != "v2", "apiVersion", unsupported, lambda: version)
    if not name:
        raise InvalidConfiguration(f"{path}.name: Required value: name is a mandatory field for a provider")
    check(":" in name, "name", f"invalid KMS provider name {name}, must not contain ':'", lambda: name)
    check(name in names, "name", f"duplicate KMS provider name {name}, names must be unique", lambda: name)
    names.add(name)
    check(timeout <= 0, "timeout", "timeout should be a positive value", lambda: timeout)
    check(not endpoint, "endpoint", "endpoint is a mandatory field for a kms")
    parts = urlsplit(endpoint)
    scheme = f'unsupported scheme "{parts.scheme}" for KMS provider, only unix is supported'
    check(parts.scheme != "unix", "endpoint", scheme, lambda: endpoint)
    check("cachesize" in given, "cachesize", "cachesize is not supported in v2", lambda: given["cachesize"])
    return Kms(name, parts.path if not parts.netloc else f"{parts.netloc}{parts.path}", timeout)
