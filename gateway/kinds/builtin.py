"""The built-in kinds: models and served resources made from the catalog."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from importlib import import_module
from itertools import groupby
from operator import itemgetter
from typing import Any

from gateway.defaults import apply_defaults, apply_gated_defaults
from gateway.defaults.registry import GATED
from gateway.jsontypes import JsonObject
from gateway.kinds.identity import GroupResource, GroupVersion, GroupVersionKind
from gateway.kinds.model import Model, Version
from gateway.kinds.other_minors import outdated
from gateway.kinds.registry import Registry
from gateway.kinds.resource import Resource
from gateway.kinds.selectable import VALUES, names_of
from gateway.kinds.strategies import strategy_for
from gateway.release.early_versions import EARLY, deprecation, has, is_early, like
from gateway.release.gates import Gates
from gateway.release.lifecycle import absent, announced_version, serves
from gateway.release.minors import CATALOGS, CATALOGUED, version_priority
from gateway.release.release import Release, release_of
from gateway.schema.catalog import Catalog, catalog_of

# The storage prefixes of kube-apiserver that are not the plural.
STORAGE_PREFIXES = {
    GroupResource("", "replicationcontrollers"): "controllers",
    GroupResource("", "endpoints"): "services/endpoints",
    GroupResource("", "nodes"): "minions",
    GroupResource("", "services"): "services/specs",
    GroupResource("networking.k8s.io", "ingresses"): "ingress",
}
_PREFIXED_BY_GROUP = frozenset({"apiextensions.k8s.io", "apiregistration.k8s.io"})

# Storage versions that are not the first version of the group in discovery.
STORAGE_VERSIONS = {
    GroupResource("autoscaling", "horizontalpodautoscalers"): GroupVersion("autoscaling", "v2"),
}
# Deprecated versions: every answer has a warning ("Deprecated API Migration Guide").
WARNINGS = {
    GroupVersionKind("", "v1", "ComponentStatus"): "v1 ComponentStatus is deprecated in v1.19+",
    GroupVersionKind("", "v1", "Endpoints"): (
        "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
    ),
}

# Kinds with annotations that are fields of Go's internal types, and the module and function that read them.
ANNOTATED_FIELDS = {
    GroupVersionKind("apps", "v1", "DaemonSet"): ("annotated_fields", "read_daemon_set"),
    GroupVersionKind("apps", "v1", "Deployment"): ("annotated_fields", "read_deployment"),
    GroupVersionKind("autoscaling", "v1", "HorizontalPodAutoscaler"): ("autoscalers", "read_autoscaler"),
}

# Resources whose old stored objects lack fields that follow from others. `on_read` in the modules of their strategies
# completes an object, as kube-apiserver's Decorators do.
COMPLETED = frozenset({GroupResource("", "services"), GroupResource("", "persistentvolumeclaims")})


Entry = dict[str, Any]  # a resource as the catalog describes it
VersionEntries = tuple[str, str, list[Entry]]  # group, version, and the resources of the version


def builtin_registry(
    primary_family: str = "IPv4", release: Release | None = None, early: frozenset[tuple[str, str]] = frozenset()
) -> Registry:
    """A registry of the catalog's resources; these are made once a process for each primary IP family and release.

    Without `release` it is the default one. Resources that its minor does not have are served to the server itself
    only, so that no object is lost in an etcd that a later minor has written. `early` has the groups and versions of
    `early_versions` that are served, too.
    """
    release = release or release_of()
    registry = _registry(primary_family, release, early).copy(release)
    if release.minor != (release.binary if release.binary in CATALOGS else CATALOGUED):
        stable = (each for each in registry.kinds() if each[0][:2] not in early)
        registry.switch_off(absent(release.minor, stable))
    return registry


def early_versions(release: Release) -> dict[tuple[str, str], frozenset[str]]:
    """The beta versions that a server of the release can serve, with the plurals of their resources."""
    found: dict[tuple[str, str], frozenset[str]] = {}
    for group, version, entries in _with_early(catalog_of(release.binary), release.minor, frozenset(EARLY)):
        if (group, version) in EARLY and entries:
            found[group, version] = frozenset(each["name"] for each in entries)
    return found


@lru_cache(maxsize=8)
def _registry(primary_family: str, release: Release, early: frozenset[tuple[str, str]]) -> Registry:
    catalog = catalog_of(release.binary)
    served_versions = list(_with_early(catalog, release.minor, early))
    registry, models = Registry(), _models(primary_family, release, catalog, served_versions)
    verbs: dict[frozenset[str], frozenset[str]] = {}  # resources share equal sets of verbs
    for group, version, entries in served_versions:
        served = (each for entry in entries for each in _resources(models, GroupVersion(group, version), entry, verbs))
        registry.add_version(group, version, served)
    return registry


def _versions(catalog: Catalog) -> Iterator[VersionEntries]:
    for group in catalog.document["groups"]:
        for version in group["versions"]:
            yield group["name"], version["version"], version["resources"]


def _with_early(catalog: Catalog, minor: str, early: frozenset[tuple[str, str]]) -> Iterator[VersionEntries]:
    """The catalog's versions, each group's followed by its versions in `early`."""
    for group, versions in groupby(_versions(catalog), itemgetter(0)):
        entries: dict[str, list[Entry]] = {}
        for each in versions:
            entries[each[1]] = each[2]
            yield each
        for version in sorted((version for own, version in early if own == group), key=version_priority):
            model = EARLY[group, version].like
            there = entries.get(model) or catalog.document["onDemand"].get(f"{group}/{model}", [])
            yield group, version, [each for each in there if has(minor, group, version, each["kind"])]


def _models(
    primary_family: str, release: Release, catalog: Catalog, served_versions: list[VersionEntries]
) -> dict[str, Model]:
    """The models by `_place`. Versions that share storage are versions of one model, whatever their groups."""
    places: dict[str, dict[GroupVersion, Entry]] = {}
    for group, version, entries in served_versions:
        for entry in entries:
            places.setdefault(_place(group, entry), {})[GroupVersion(group, version)] = entry
    return {place: _model(place, versions, primary_family, release, catalog) for place, versions in places.items()}


def _place(group: str, entry: Entry) -> str:
    """The key of a model: the storage prefix, or for a kind that is not stored, a name that no prefix equals."""
    plural = entry["name"]
    if not _is_stored(entry):
        return f"//{group}/{plural}"
    own = f"{group}/{plural}" if group in _PREFIXED_BY_GROUP else plural
    return STORAGE_PREFIXES.get(GroupResource(group, plural), own)


def _is_stored(entry: Entry) -> bool:
    return "create" in entry["verbs"] and "list" in entry["verbs"]


def _model(
    place: str, versions: dict[GroupVersion, Entry], primary_family: str, release: Release, catalog: Catalog
) -> Model:
    first, entry = next(iter(versions.items()))
    plural, gates = entry["name"], release.gates
    resource = GroupResource(first.group, plural)
    stored = STORAGE_VERSIONS.get(resource, first)
    if len(versions) > 1:
        stored = _stored_early(release, stored, list(versions), entry["kind"])
    return Model(
        group=first.group,
        plural=plural,
        kind=entry["kind"],
        list_kind=entry["kind"] + "List",
        namespaced=entry["namespaced"],
        singular=entry.get("singular", ""),
        short_names=tuple(entry.get("shortNames", ())),
        categories=tuple(entry.get("categories", ())),
        storage_prefix=place if _is_stored(entry) else "",
        storage_version=stored,
        versions={each: _version(each, found, release, catalog) for each, found in versions.items()},
        strategies=partial(strategy_for, first.group, plural, gates=gates),
        on_read=partial(_complete, plural, primary_family) if resource in COMPLETED else _keep,
        convert=partial(_convert, entry["kind"]),
        outdated=outdated(resource, gates.enabled),
        field_values=VALUES.get(resource, {}),
        announced_version=partial(_announced, release.binary, release.compatible, stored, entry["kind"]),
    )


def _stored_early(release: Release, stored: GroupVersion, versions: list[GroupVersion], kind: str) -> GroupVersion:
    """The storage version: the highest early one where the minor does not serve `stored`, so that its peers read it."""
    early = [each for each in versions if is_early(*each, kind)]
    return early[0] if early and not serves(release.minor, *stored, kind) else stored


def _announced(binary: str, compatible: str, stored: GroupVersion, kind: str) -> str:

    return announced_version(binary, compatible, *stored, kind)


def _version(version: GroupVersion, entry: Entry, release: Release, catalog: Catalog) -> Version:
    gvk, gates = GroupVersionKind(*version, entry["kind"]), release.gates
    early = is_early(*gvk)
    ruled = GroupVersion(version.group, like(*gvk))  # whose defaults it has
    return Version(
        gvk=gvk,
        make_type=partial(catalog.type_for, *gvk),
        warning=deprecation(release.binary, *gvk) if early else WARNINGS.get(gvk, ""),
        default=_defaults(ruled.api_version, gvk.kind, gates),
        read_internal=partial(_read_internal, *reader) if (reader := ANNOTATED_FIELDS.get(gvk)) else None,
        annotated_fields=partial(_annotated_fields, gvk.kind) if gvk in ANNOTATED_FIELDS else frozenset,
        selectable=names_of(GroupResource(version.group, entry["name"]), gates.enabled),
    )


def _keep(obj: JsonObject) -> None:
    return None


def _complete(plural: str, primary_family: str, obj: JsonObject) -> None:
    import_module(f"gateway.kinds.strategies.{plural}").on_read(obj, primary_family)


def _defaults(api_version: str, kind: str, gates: Gates) -> Callable[[JsonObject], None]:
    gate, _ = GATED.get((api_version, kind), ("", ""))
    return partial(apply_gated_defaults if gate and gates.enabled(gate) else apply_defaults, api_version, kind)


def _convert(kind: str, obj: JsonObject, source: GroupVersion, target: GroupVersion) -> JsonObject:
    if source == target:
        return obj
    if is_early(*source, kind) or is_early(*target, kind):
        return {**obj, "apiVersion": target.api_version}
    from gateway.kinds.conversions.convert import convert  # few objects ever need it

    return convert(obj, kind, source, target)


def _read_internal(module: str, name: str, obj: JsonObject) -> None:
    if obj["metadata"].get("annotations"):  # few objects have such annotations: the module is imported for them
        getattr(import_module(f"gateway.kinds.conversions.{module}"), name)(obj)


def _annotated_fields(kind: str) -> frozenset[str]:
    from gateway.kinds.conversions.annotated_fields import NAMES

    return NAMES[kind]


def _resources(
    models: dict[str, Model], version: GroupVersion, entry: Entry, verbs: dict[frozenset[str], frozenset[str]]
) -> Iterator[Resource]:
    model = models[_place(version.group, entry)]
    for each in ({**entry, "name": ""}, *entry.get("subresources", ())):
        kind, own = _kind(each["kind"], version), frozenset(each["verbs"])
        yield Resource(
            model=model,
            group=version.group,
            version=version.version,
            resource=entry["name"],
            subresource=each["name"],
            kind=kind.kind,
            kind_group=kind.group,
            kind_version=kind.version,
            verbs=verbs.setdefault(own, own),
        )


def _kind(written: str, version: GroupVersion) -> GroupVersionKind:
    """The kind of a catalog entry, which is "Pod", or "autoscaling/v1/Scale" for a kind of another group."""
    return GroupVersionKind(*written.split("/")) if "/" in written else GroupVersionKind(*version, written)
