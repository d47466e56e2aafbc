"""Beta versions that have the fields of v1: their types, warnings and minors, and stored values in them."""

from __future__ import annotations

import pytest

from gateway.jsontypes import dumps, loads
from gateway.kinds.builtin import builtin_registry, early_versions
from gateway.kinds.enablement import switched_off, switched_on
from gateway.kinds.registry import Registry
from gateway.openapi.schemas import schemas_of
from gateway.release.early_versions import EARLY, deprecation, has
from gateway.release.lifecycle import knows
from gateway.release.minors import DEFAULT
from gateway.release.release import release_of
from gateway.schema.catalog import catalog_of, serving
from gateway.schema.empty_lists import unstored
from gateway.schema.types import Type, TypeKind
from gateway.settings.runtime_config import overrides

CLAIMS = ("resource.k8s.io", "v1beta2")
CANDIDATES = [("coordination.k8s.io", "v1beta1"), ("coordination.k8s.io", "v1alpha2")]
POLICIES = ("admissionregistration.k8s.io", "v1beta1")


def _registry(config: str, minor: str = DEFAULT) -> Registry:
    release, said = release_of(minor=minor), overrides(config)
    registry = builtin_registry(release=release, early=switched_on(release, said))
    registry.switch_off(switched_off(registry, said))
    return registry


@pytest.mark.parametrize("place", EARLY)
def test_every_kind_of_the_table_is_known_and_has_a_type(place: tuple[str, str]) -> None:
    catalog = catalog_of(DEFAULT)
    for kind in EARLY[place].kinds:
        assert has(DEFAULT, *place, kind) and knows(DEFAULT, *place, kind)
        early, stable = catalog.type_for(*place, kind), catalog.type_for(place[0], EARLY[place].like, kind)
        assert early.name == f"{place[1]}.{kind}" and _shape(early) == _shape(stable)
        assert catalog.type_for(*place, f"{kind}List").fields["items"].type.elem is early


@pytest.mark.parametrize("place", EARLY)
def test_empty_lists_are_told_apart_as_in_v1(place: tuple[str, str]) -> None:
    sent = {"spec": {"devices": [], "sharedCounters": []}}
    for kind in EARLY[place].kinds:
        early, stable = (catalog_of(DEFAULT).type_for(place[0], each, kind) for each in (place[1], EARLY[place].like))
        assert unstored(early, sent) == unstored(stable, sent)
        assert (kind == "ResourceSlice") is bool(unstored(early, sent))


def _shape(type_: Type | None, within: tuple[str, ...] = ()) -> object:
    if type_ is None or type_.name in within:
        return None
    if type_.kind is TypeKind.STRUCT:
        below = (*within, type_.name)
        return {name: (each.number, each.omit, _shape(each.type, below)) for name, each in type_.fields.items()}
    return type_.kind, type_.list_type, _shape(type_.elem, within)


def test_they_are_off_until_a_version_stage_or_resource_is_switched_on() -> None:
    assert CLAIMS[1] not in _registry("").groups["resource.k8s.io"]
    assert _registry("resource.k8s.io/v1beta2=true").groups["resource.k8s.io"] == ["v1", "v1beta2"]
    assert _registry("api/beta=true").groups["storagemigration.k8s.io"] == ["v1", "v1beta1"]
    one = _registry("resource.k8s.io/v1beta2/resourceclaims=true")
    assert {each.resource for each in one.of_version(*CLAIMS)} == {"resourceclaims"}
    but_one = _registry("api/all=true,resource.k8s.io/v1beta2/resourceclaims=false")
    assert "resourceclaims" not in {each.resource for each in but_one.of_version(*CLAIMS)}
    assert "deviceclasses" in {each.resource for each in but_one.of_version(*CLAIMS)}


def test_a_minor_has_those_whose_v1_is_known_here() -> None:
    assert set(early_versions(release_of(minor="1.34"))) == {POLICIES, CLAIMS, *CANDIDATES}
    assert set(early_versions(release_of())) == set(EARLY)
    assert "devicetaintrules" not in early_versions(release_of(minor="1.34"))[CLAIMS]


def test_the_warning_is_that_of_the_minor() -> None:
    claims = "resource.k8s.io/v1beta2 ResourceClaim is deprecated in v1.36+, unavailable in v1.39+"
    assert deprecation("1.37", *CLAIMS, "ResourceClaim") == claims
    assert deprecation("1.35", *CLAIMS, "ResourceClaim") == ""
    assert deprecation("1.37", *POLICIES, "MutatingAdmissionPolicy").endswith(
        "; use admissionregistration.k8s.io/v1 MutatingAdmissionPolicy"
    )


@pytest.mark.parametrize(
    ("group", "version", "kind"),
    [(*place, kind) for place, early in EARLY.items() if early.like == "v1" for kind in sorted(early.kinds)]
    + [
        ("certificates.k8s.io", "v1beta1", "PodCertificateRequest"),
        ("networking.k8s.io", "v1beta1", "IPAddress"),
        ("networking.k8s.io", "v1beta1", "ServiceCIDR"),
        ("storage.k8s.io", "v1beta1", "VolumeAttributesClass"),
        ("admissionregistration.k8s.io", "v1beta1", "ValidatingAdmissionPolicy"),
        ("admissionregistration.k8s.io", "v1alpha1", "MutatingAdmissionPolicy"),
    ],
)
def test_objects_that_a_kube_apiserver_stored_in_them_are_read(group: str, version: str, kind: str) -> None:
    """It stores the highest version that the release before has: v1beta1 of a ClusterTrustBundle in 1.37."""
    resource = builtin_registry().by_kind(group, "v1", kind)
    assert resource is not None
    obj = {"apiVersion": f"{group}/{version}", "kind": kind, "metadata": {"name": "a", "uid": "u-1"}, "spec": {}}
    assert loads(resource.model.canonicalise(dumps(obj)))["apiVersion"] == f"{group}/v1"


def test_where_the_minor_does_not_serve_v1_objects_are_stored_in_them() -> None:
    early = _registry("admissionregistration.k8s.io/v1beta1=true", "1.35").by_kind(*POLICIES, "MutatingAdmissionPolicy")
    assert early is not None and early.storage_version == "admissionregistration.k8s.io/v1beta1"
    later = _registry("admissionregistration.k8s.io/v1beta1=true").by_kind(*POLICIES, "MutatingAdmissionPolicy")
    assert later is not None and later.storage_version == "admissionregistration.k8s.io/v1"


def _plurals(registry: Registry, group: str, version: str) -> set[str]:
    return {each.resource for each in registry.of_version(group, version)}


@pytest.mark.parametrize("on", ["v1beta1=true", "v1alpha2=true", "v1beta1=true,coordination.k8s.io/v1alpha2=true"])
def test_a_kind_without_v1_is_stored_in_its_highest_version_whichever_is_on(on: str) -> None:
    registry = _registry(f"coordination.k8s.io/{on}")
    served = {version for place, version in CANDIDATES if "leasecandidates" in _plurals(registry, place, version)}
    assert served == {version for _, version in CANDIDATES if f"{version}=" in on}
    resource = registry.by_kind(*CANDIDATES[0], "LeaseCandidate")
    assert resource is not None and resource.storage_version == "coordination.k8s.io/v1beta1"
    for _, version in CANDIDATES:
        obj = {"apiVersion": f"coordination.k8s.io/{version}", "kind": "LeaseCandidate", "metadata": {"name": "a"}}
        assert loads(resource.model.canonicalise(dumps(obj)))["apiVersion"] == "coordination.k8s.io/v1beta1"


def test_openapi_names_their_kinds_and_types() -> None:
    schemas = schemas_of(["io.k8s.api.resource.v1beta2.ResourceClaim"], {})
    claim = schemas["io.k8s.api.resource.v1beta2.ResourceClaim"]
    assert claim["x-kubernetes-group-version-kind"] == [
        {"group": "resource.k8s.io", "kind": "ResourceClaim", "version": "v1beta2"}
    ]
    assert "io.k8s.api.resource.v1beta2.ResourceClaimSpec" in schemas
    assert not any(".resource.v1." in name for name in schemas)


def test_elements_have_no_defaults_in_openapi_from_the_minor_on_that_drops_them() -> None:
    def elements(minor: str) -> set[str]:
        with serving(minor):
            selector = schemas_of(["io.k8s.api.core.v1.NodeSelector"], {})["io.k8s.api.core.v1.NodeSelector"]
            return set(selector["properties"]["nodeSelectorTerms"]["items"])

    assert elements("1.37") == {"$ref"}
    assert elements("1.36") == {"allOf", "default"}
