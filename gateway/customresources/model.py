"""Makes the model and the served resources of a CustomResourceDefinition."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice

from gateway.customresources.conversion import ConversionWebhook
from gateway.customresources.definition import TERMINATING, ends_unserved, is_true, stored_version
from gateway.customresources.fields import field_values, selectable
from gateway.customresources.objects import VersionRules, strategies_of
from gateway.customresources.schema_type import object_type
from gateway.customresources.storage_form import canonicaliser, read_stored
from gateway.defaults.structural import apply_structural_defaults, default_applied, default_stored, prune_nulls
from gateway.jsontypes import JsonObject
from gateway.kinds.identity import GroupVersion, GroupVersionKind
from gateway.kinds.known_canonical import KnownCanonical
from gateway.kinds.model import Model, Version
from gateway.kinds.resource import Resource
from gateway.release.gates import Enabled
from gateway.release.minors import version_priority
from gateway.release.release import DEFAULT_GATES
from gateway.schema.decode import DecodeError, DecodeReport
from gateway.schema.encode import encode_stored
from gateway.schema.types import Type
from gateway.time_limits import TakesLong, look, on_loop
from gateway.validation.structural_schema import every

# in the order of discovery documents
VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
TERMINATING_VERBS = ("delete", "deletecollection", "get", "list", "watch")
SUBRESOURCE_VERBS = frozenset({"get", "patch", "update"})
SCALE = ("autoscaling", "v1", "Scale")

_LARGE = 2_000  # nodes of a schema that compiles in about 20 ms

MakeConverter = Callable[[JsonObject], ConversionWebhook | None]  # the conversion webhook of a CRD, if it has one


def model_of(
    definition: JsonObject, converter: MakeConverter, since: int = 0, enabled: Enabled = DEFAULT_GATES.enabled
) -> Model:
    """The model of a CustomResourceDefinition whose names are accepted. Its types are compiled at their first use.

    `since`: the etcd revision before which no watch may start. `enabled`: tells whether a feature gate, or a change of
    the release, is on. Raises TakesLong on an event loop if there are very many versions.
    """
    spec, names = definition["spec"], definition["status"]["acceptedNames"]
    group = spec["group"]
    versions = sorted(spec.get("versions") or (), key=lambda version: version_priority(version["name"]))
    webhook = converter(definition)
    in_use = [each["name"] for each in versions if each.get("served") and not each.get("deprecated")]
    newest = in_use[0] if in_use else ""
    made = {
        GroupVersion(group, version["name"]): _version(definition, version, newest, enabled) for version in versions
    }
    model = Model(
        group=group,
        plural=names["plural"],
        kind=names["kind"],
        list_kind=names.get("listKind", ""),
        namespaced=spec.get("scope") == "Namespaced",
        singular=names.get("singular", ""),
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        storage_prefix=f"{group}/{names['plural']}",
        storage_version=GroupVersion(group, stored_version(definition)),
        versions=made,
        convert_all=None if webhook is None else webhook.converting(made),
        written_as_served=True,
        since=since,
        convert=partial(_convert, made),
        canonicaliser=canonicaliser,
        settled=KnownCanonical(),
        field_values=field_values(versions),
    )
    return model


def compile_large(model: Model) -> None:
    """Compiles the readers of versions with large schemas. Raises TakesLong on an event loop if there are any.

    Must be called before the model is served: the watch cache reads objects on the event loop, where the compilation
    would take too long.
    """
    for version in model.versions.values():
        look()
        if next(islice(every(version.openapi or {}), _LARGE - 1, None), None) is not None:
            if on_loop():
                raise TakesLong
            with suppress(ValueError):  # raised if this minimal object would get too many defaults
                read = read_stored(version, {"kind": model.kind, "apiVersion": version.api_version})
                encode_stored(read, model.kind, version.api_version, version.type)
            _ = version.order


def as_read_before(model: Model, before: Model) -> Model:
    """The model with the reader of `before`. For a model that reads stored objects in the same way as `before`."""
    canonicalise = before.canonicalise  # not `before` itself: each model would keep all earlier ones alive
    return replace(model, canonicaliser=lambda _: canonicalise, settled=before.settled, since=before.since)


def _convert(
    versions: dict[GroupVersion, Version], obj: JsonObject, source: GroupVersion, target: GroupVersion
) -> JsonObject:
    """The conversion strategy None: sets the apiVersion, and prunes by the target's schema. Raises ValueError."""
    if source == target:
        return obj
    version = versions[target]
    try:
        converted = version.decode({**obj, "apiVersion": target.api_version}, DecodeReport())
    except DecodeError as error:
        raise ValueError(str(error)) from error
    prune_nulls(version.type, converted)
    return converted


def resources_of(definition: JsonObject, model: Model) -> list[Resource]:
    """The resources of a model: those of each served version with its subresources, the preferred version first."""
    shown = TERMINATING_VERBS if is_true(definition, TERMINATING) else VERBS
    versions = [version for version in model.versions.values() if version.served]
    if ends_unserved(definition):
        versions = [model.versions[model.storage_version]]
    return [each for version in versions for each in _resources(model, version, shown)]


def _resources(model: Model, version: Version, shown: tuple[str, ...]) -> Iterator[Resource]:
    def resource(subresource: str, kind: GroupVersionKind, verbs: frozenset[str]) -> Resource:
        return Resource(
            model=model,
            group=model.group,
            version=version.gvk.version,
            resource=model.plural,
            kind=kind.kind,
            kind_group=kind.group,
            kind_version=kind.version,
            verbs=verbs,
            subresource=subresource,
            shown_verbs=() if subresource else shown,
        )

    yield resource("", version.gvk, frozenset(VERBS))
    if "scale" in version.subresources:
        yield resource("scale", GroupVersionKind(*SCALE), SUBRESOURCE_VERBS)
    if "status" in version.subresources:
        yield resource("status", version.gvk, SUBRESOURCE_VERBS)


def _version(definition: JsonObject, version: JsonObject, newest: str, enabled: Enabled) -> Version:
    """One version of the model. `newest` is the newest version that is served and not deprecated, or ""."""
    look()
    spec = definition["spec"]
    gvk = GroupVersionKind(spec["group"], version["name"], definition["status"]["acceptedNames"]["kind"])
    schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    preserves = bool(spec.get("preserveUnknownFields"))
    made: list[Type] = []

    def make_type() -> Type:
        if not made:
            made.append(object_type(schema, gvk.kind, preserves=preserves))
        return made[0]

    def default(obj: JsonObject) -> None:
        apply_structural_defaults(make_type(), obj)

    terminating = is_true(definition, TERMINATING)
    rules = VersionRules(gvk, schema, version.get("subresources") or {}, terminating=terminating, enabled=enabled)
    return Version(
        gvk=gvk,
        make_type=make_type,
        served=bool(version.get("served")),
        warning=_warning(gvk, version, newest),
        default=default,
        default_applied=lambda obj: default_applied(make_type(), obj),
        default_stored=lambda obj: default_stored(make_type(), obj),
        selectable=selectable(version, namespaced=spec["scope"] == "Namespaced"),
        columns=tuple(version.get("additionalPrinterColumns") or ()),
        openapi=schema,
        subresources=version.get("subresources") or {},
        strategies=strategies_of(rules),
    )


def _warning(gvk: GroupVersionKind, version: JsonObject, newest: str) -> str:
    """The deprecation warning of a version: its deprecationWarning, or a default text; "" if it is not deprecated."""
    if not version.get("deprecated"):
        return ""
    own: str | None = version.get("deprecationWarning")
    if own is not None:
        return own
    newer = newest and version_priority(newest) < version_priority(gvk.version)
    instead = f"; use {gvk.group}/{newest} {gvk.kind}" if newer else ""
    return f"{gvk.api_version} {gvk.kind} is deprecated{instead}"
