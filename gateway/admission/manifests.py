"""Configurations of admission in files, which no client can change: `staticManifestsDir` of a plug-in's part of
--admission-control-config-file (page "Manifest-Based Admission Control").

They are read at the start, and again when a file in the directory changes. If that fails, the error is logged and
counted, and the last good configuration stays in force.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway.access.file_reload import Followed, show_digest
from gateway.admission.chain import Kinds
from gateway.admission.configuration import InvalidConfiguration
from gateway.http.request_info import RequestInfo
from gateway.http.user import ITSELF
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Attributes
from gateway.kinds.registry import Registry
from gateway.kinds.write_context import WriteContext
from gateway.schema.decode import DecodeError, DecodeReport
from gateway.settings.configuration_file import load_yaml
from gateway.validation.admission_rules import STATIC_SUFFIX
from gateway.validation.field import go_quote
from gateway.validation.objectmeta import validate_object_meta
from storage.instruments import counter, gauge

GROUP = "admissionregistration.k8s.io"
_API_VERSION = f"{GROUP}/v1"
_ENDINGS = (".yaml", ".yml", ".json")
_LARGEST = 4 << 20  # bytes of all files of a directory
_BETWEEN_DOCUMENTS = re.compile(rb"^---.*$", re.MULTILINE)

_FAMILY = "apiserver_manifest_admission_config_controller"
_RELOADS = counter(
    f"{_FAMILY}_automatic_reloads_total",
    "How often the admission configuration in files was read, by result.",
    *("status", "plugin", "apiserver_id_hash"),
)
_RELOADED_AT = gauge(
    f"{_FAMILY}_automatic_reload_last_timestamp_seconds",
    "When the admission configuration in files was last read, by result.",
    *("status", "plugin", "apiserver_id_hash"),
    across="max",
)
_IN_FORCE = gauge(
    f"{_FAMILY}_last_config_info",
    "Digest of the admission configuration in files that is active.",
    *("plugin", "apiserver_id_hash", "hash"),
    across="max",
)

Check = Callable[[Sequence[JsonObject]], None]
"""Checks valid objects of a directory. Raises InvalidConfiguration if an object is not allowed in files."""

Read = tuple[list[JsonObject], str]
"""All objects of a directory, and the digest of its files ("sha256:…"), "" if there are none."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What the files of a directory may hold: objects of the kinds `allowed`, by the rules of the served `kinds`."""

    kinds: Kinds
    allowed: Sequence[str]
    check: Check


class Manifests:
    """The objects of some kinds in the files of a directory, as they would be stored, and the files' digest."""

    def __init__(self, plugin: str, directory: str, rules: Rules) -> None:
        """Reads them. Raises OSError, InvalidConfiguration."""
        self.plugin, self.directory, self._rules = plugin, Path(directory), rules
        self._registry = rules.kinds()
        if not self.directory.is_absolute():
            raise InvalidConfiguration(f"staticManifestsDir: {directory}: must be an absolute path")
        with ThreadPoolExecutor(1) as pool:  # compiling may take longer in a thread; nothing is served yet
            self.use(pool.submit(copy_context().run, self.read).result())

    def of(self, kind: str) -> list[JsonObject]:
        """The objects of a kind, sorted by name."""
        return sorted((obj for obj in self._found if obj["kind"] == kind), key=lambda obj: str(obj["metadata"]["name"]))

    def read(self) -> Read:
        """Reads the files and changes nothing; to be called in a thread. Raises OSError, InvalidConfiguration."""
        digest = hashlib.sha256()
        found = list(self._objects(digest))
        self._rules.check(found)
        return found, "" if digest.digest() == hashlib.sha256().digest() else f"sha256:{digest.hexdigest()}"

    def use(self, read: Read) -> None:
        """Replaces the objects and the digest."""
        self._found, self.digest = read

    def _objects(self, digest: hashlib._Hash) -> Iterator[JsonObject]:
        names, size = dict[tuple[str, str], Path](), 0
        for file in sorted(each for each in self.directory.iterdir() if each.suffix.lower() in _ENDINGS):
            if file.is_dir() or not (data := file.read_bytes()):
                continue
            if (size := size + len(data)) > _LARGEST:
                raise InvalidConfiguration(f"{self.directory}: it holds more than {_LARGEST} bytes")
            digest.update(data + b"\0")
            for document in _documents(data, file):
                obj = self._checked(document, file)
                key = obj["kind"], obj["metadata"]["name"]
                if key in names:
                    again = f"duplicate name {go_quote(key[1])} found in file {go_quote(str(file))}"
                    raise InvalidConfiguration(f"{again} (previously seen in {go_quote(str(names[key]))})")
                names[key] = file
                yield obj

    def _checked(self, document: Any, file: Path) -> JsonObject:
        try:
            obj = _decoded(self._registry, self._rules.allowed, document)
            name = obj["metadata"].get("name", "")
            if not name.endswith(STATIC_SUFFIX):
                raise InvalidConfiguration(f"{go_quote(name)} must have a name ending with {go_quote(STATIC_SUFFIX)}")
        except InvalidConfiguration as error:
            raise InvalidConfiguration(f"error loading {file}: {error}") from None
        return obj


class ManifestWatcher:
    """Puts manifests in force: `use` is called with them at once, and again after each change of their files."""

    def __init__(self, manifests: Manifests, server: str, use: Callable[[Manifests], None]) -> None:
        """`server` is the server's name, which metrics hash."""
        self._manifests, self._use = manifests, use
        self._labels = manifests.plugin, _hashed(server.encode()) if server else ""
        self._prepared: Read | OSError | ValueError | None = None
        self._put_in_force()

    def followed(self) -> Followed:
        """The directory to follow, and the functions that reload it after a change."""
        what = f"{self._manifests.plugin}: staticManifestsDir"
        return Followed(what, (self._manifests.directory,), self._reload, self._prepare)

    def _put_in_force(self) -> None:
        self._use(self._manifests)
        self._count("success")
        show_digest(_IN_FORCE, self._manifests.digest, *self._labels)

    def _prepare(self) -> None:
        """Reads the files again, in a thread: compiling their expressions may take seconds."""
        try:
            self._prepared = self._manifests.read()
        except (OSError, ValueError) as error:
            self._prepared = error

    def _reload(self) -> None:
        """Puts in force what `_prepare` has read. Raises its error (OSError, ValueError) and then changes nothing."""
        before, read, self._prepared = self._manifests.digest, self._prepared, None
        if isinstance(read, Exception):
            self._count("failure")
            raise read
        if read is None or read[1] == before:
            return
        self._manifests.use(read)
        self._put_in_force()

    def _count(self, status: str) -> None:
        _RELOADS.labels(status, *self._labels).inc()
        _RELOADED_AT.labels(status, *self._labels).set(time.time())


def _documents(data: bytes, file: Path) -> Iterator[Any]:
    """Yields the object of each document in a file, or each item if the document is a list.

    Raises InvalidConfiguration.
    """
    for text in (each.strip() for each in _BETWEEN_DOCUMENTS.split(data)):
        if not text:
            continue
        try:
            found = load_yaml(text)
        except InvalidConfiguration as error:
            raise InvalidConfiguration(f"error loading {file}: {error}") from None
        kind = found.get("kind") if isinstance(found, dict) else None
        if not isinstance(kind, str) or not kind.endswith("List") or not isinstance(found.get("items"), list):
            yield found
            continue
        for item in found["items"]:
            typed = isinstance(item, dict) and kind != "List"
            yield {"kind": kind.removesuffix("List"), "apiVersion": found.get("apiVersion"), **item} if typed else item


def _decoded(registry: Registry, kinds: Sequence[str], document: Any) -> JsonObject:
    """Decodes an object strictly, sets defaults and validates it, like a client's. Raises InvalidConfiguration."""
    kind = str(document.get("kind")) if isinstance(document, dict) else ""
    if kind not in kinds or document.get("apiVersion") != _API_VERSION:
        wanted = " or ".join(kinds)
        raise InvalidConfiguration(f"unsupported resource type: it must be a {wanted} of {_API_VERSION}")
    resource = registry.by_kind(GROUP, "v1", kind)
    assert resource is not None
    version, report = resource.model_version, DecodeReport()
    try:
        obj = version.decode(document, report)
    except DecodeError as error:
        raise InvalidConfiguration(str(error)) from None
    if report.problems:
        raise InvalidConfiguration(f"strict decoding error: {', '.join(report.problems)}")
    obj["kind"], obj["apiVersion"] = kind, resource.api_version
    version.default(obj)
    name = obj.setdefault("metadata", {}).get("name", "")
    who = Attributes(ITSELF, RequestInfo("create", ""))
    context = WriteContext(who, resource, name=name, release=registry.release)
    errors = validate_object_meta(obj["metadata"], False, standard_finalizers=False)
    if errors := [*errors, *resource.strategy.validate(obj, context)]:
        told = (str(error.as_told(context.enabled)) for error in errors)
        raise InvalidConfiguration(f"{kind} {go_quote(name)}: {', '.join(told)}")
    return obj


def _hashed(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"
