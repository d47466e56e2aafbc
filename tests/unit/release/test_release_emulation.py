"""A server that emulates an earlier minor has that minor's APIs and gates, and says who it is (KEP-4330).

The words and the gates are those of kube-apiserver 1.36.3 with --emulated-version.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256

import pytest

from gateway.access.rbac.default_policy import default_policy
from gateway.discovery.documents import storage_version_hash
from gateway.kinds.builtin import builtin_registry
from gateway.release.gates import FeatureStage, InvalidGates
from gateway.release.minors import check_emulated, emulated_minor
from gateway.release.release import release_of
from gateway.release.roles import BY_GATES


@pytest.mark.parametrize("text", ["1.35", "v1.35", "kube=1.35", " kube = 1.35", "1.35.0"])
def test_a_minor_is_named_as_for_kube_apiserver(text: str) -> None:
    assert emulated_minor(text) == "1.35"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1.35.1", "patch version not allowed, got: kube=1.35.1"),
        ("foo", 'could not parse "foo" as version'),
        ("kube=1.35,kube=1.34", "duplicate version flag, kube=1.35 and kube=1.34"),
        ("wardle=1.2", "component not registered: wardle"),
    ],
)
def test_what_names_no_minor_is_refused(text: str, words: str) -> None:
    with pytest.raises(ValueError) as refused:
        emulated_minor(text)
    assert str(refused.value) == words


@pytest.mark.parametrize(
    ("minor", "words"),
    [
        ("1.37", "emulation version 1.37 is not between [1.33, 1.36.0]"),
        (
            "1.32",
            "[emulation version 1.32 is not between [1.33, 1.36.0], "
            "minCompatibilityVersion version 1.33 is not between [1.33, 1.32]]",
        ),
        ("1.33", "this server does not emulate 1.33; give one of 1.34, 1.35, 1.36"),
    ],
)
def test_a_minor_that_is_not_emulated_is_refused(minor: str, words: str) -> None:
    with pytest.raises(ValueError) as refused:
        check_emulated(minor, "1.36")
    assert str(refused.value) == words


@pytest.mark.parametrize(
    ("minors", "words"),
    [
        (("1.36", "1.36", "1.32"), "minCompatibilityVersion version 1.32 is not between [1.33, 1.36]"),
        (("1.35", "1.36", "1.36"), "minCompatibilityVersion version 1.36 is not between [1.33, 1.35]"),
        (
            ("1.38", "1.37", "1.39"),
            "[emulation version 1.38 is not between [1.34, 1.37.0], "
            "minCompatibilityVersion version 1.39 is not between [1.34, 1.38]]",
        ),
    ],
)
def test_a_compatible_minor_is_within_three_minors_and_not_after_the_emulated(
    minors: tuple[str, str, str], words: str
) -> None:
    with pytest.raises(ValueError) as refused:
        check_emulated(*minors)
    assert str(refused.value) == words


@pytest.mark.parametrize(
    ("minors", "compatible"),
    [
        (("1.36",), "35"),
        (("1.36", "1.34"), "33"),
        (("1.37", "1.34"), "34"),
        (("1.36", "", "1.36"), "36"),
        (("1.36", "1.35", "1.33"), "33"),
    ],
)
def test_the_version_names_the_least_compatible_minor(minors: tuple[str, ...], compatible: str) -> None:
    found = release_of((), *minors).version_info()
    assert (found["minCompatibilityMajor"], found["minCompatibilityMinor"]) == ("1", compatible)


def test_a_gate_that_earlier_replicas_hold_back_is_on_without_them() -> None:
    """DRAFractionalCapacityRange is beta and off in 1.37, and on with --min-compatibility-version=1.37."""
    gate = "DRAFractionalCapacityRange"
    found = [release_of((), "1.37", "", each).gates for each in ("", "1.35", "1.37")]
    assert [gates.enabled(gate) for gates in found] == [False, False, True]
    assert [{name: on for name, _, on in gates.states()}[gate] for gates in found] == [False, False, True]


def test_new_expressions_have_the_functions_that_each_replica_reads() -> None:
    minors = (("1.36",), ("1.36", "", "1.34"), ("1.36", "", "1.33"), ("1.34",), ("1.34", "", "1.34"))
    found = [release_of((), *each).gates.enabled("CELListFunctions") for each in minors]
    assert found == [True, True, False, False, True]


@pytest.mark.parametrize(
    ("minors", "resource", "version"),
    [
        (("1.36",), ("admissionregistration.k8s.io", "mutatingadmissionpolicies"), "v1beta1"),
        (("1.37",), ("admissionregistration.k8s.io", "mutatingadmissionpolicies"), "v1"),
        (("1.36", "", "1.36"), ("admissionregistration.k8s.io", "mutatingadmissionpolicies"), "v1"),
        (("1.37",), ("resource.k8s.io", "devicetaintrules"), "v1beta2"),
        (("1.37",), ("certificates.k8s.io", "clustertrustbundles"), "v1beta1"),
        (("1.37", "", "1.37"), ("certificates.k8s.io", "clustertrustbundles"), "v1"),
        (("1.34",), ("storage.k8s.io", "volumeattributesclasses"), "v1beta1"),
        (("1.35",), ("storage.k8s.io", "volumeattributesclasses"), "v1beta1"),
        (("1.36",), ("storage.k8s.io", "volumeattributesclasses"), "v1"),
        (("1.36", "", "1.33"), ("resource.k8s.io", "resourceclaims"), "v1beta2"),
        (("1.36",), ("autoscaling", "horizontalpodautoscalers"), "v2"),
        (("1.36", "", "1.36"), ("apiextensions.k8s.io", "customresourcedefinitions"), "v1beta1"),
    ],
)
def test_discovery_has_the_hash_of_the_newest_version_that_each_replica_reads(
    minors: tuple[str, ...], resource: tuple[str, str], version: str
) -> None:
    release = release_of((), *minors)
    found = next(each for each in builtin_registry(release=release).stored() if (each.group, each.resource) == resource)
    assert found.model.announced_version and found.model.announced_version() == version
    text = f"{resource[0]}/{version}/{found.kind}"
    assert storage_version_hash(found) == b64encode(sha256(text.encode()).digest()[:8]).decode()


def test_the_version_is_that_of_the_server_and_names_the_emulated_minor() -> None:
    found = release_of((), "1.36", "1.34").version_info()
    assert (found["gitVersion"], found["major"], found["minor"]) == ("v1.36.3", "1", "36")
    assert (found["emulationMinor"], found["minCompatibilityMinor"]) == ("34", "33")


def test_its_own_minor_is_no_emulation() -> None:
    assert release_of((), "1.36", "1.36") is release_of((), "1.36")


def test_gates_are_as_the_server_knows_them_in_that_minor() -> None:
    release = release_of((), "1.36", "1.34")
    states = {name: (stage, on) for name, stage, on in release.gates.states()}
    assert states["WatchListClient"] == (FeatureStage.BETA, False), "1.34 itself does not know it"
    assert states["MutatingAdmissionPolicy"] == (FeatureStage.BETA, False), "GA in 1.36"
    assert "DRAListTypeAttributes" not in states, "it comes with 1.36"
    assert len(states) == 191
    with pytest.raises(InvalidGates) as refused:
        release_of((("DRAListTypeAttributes", True),), "1.36", "1.35")
    assert str(refused.value) == (
        "cannot set feature gate DRAListTypeAttributes to true, feature is PreAlpha at emulated version 1.35, "
        "min compatibility version 1.34"
    )


def test_a_gate_that_is_served_one_way_alone_is_refused() -> None:
    with pytest.raises(InvalidGates, match="leave the gate out"):
        release_of((("ServiceCIDRStatusFieldWiping", True),), "1.36", "1.35")


def test_functions_of_expressions_are_those_of_the_emulated_minor() -> None:
    found = {minor: release_of((), "1.36", minor).gates.enabled("CELListFunctions") for minor in ("1.34", "1.35")}
    assert found == {"1.34": False, "1.35": True}


def test_what_the_server_says_is_its_own() -> None:
    """A change without a gate is there, since the code is that of the server."""
    change = "AuthorizersNamedInReasons"
    own, emulated, before = (release_of((), *minors).gates.enabled(change) for minors in BOTH)
    assert own == emulated and own != before


BOTH = (("1.37", ""), ("1.37", "1.36"), ("1.36", ""))


def test_roles_that_follow_from_gates_are_those_of_the_emulated_minor() -> None:
    def rules(minor: str, binary: str = "") -> dict[str, object]:
        return {each["metadata"]["name"]: each.get("rules") for each in default_policy(minor, binary)["clusterroles"]}

    own, emulated, found = rules("1.36"), rules("1.34"), rules("1.34", "1.36")
    assert {name for name in own | found if own.get(name) != found.get(name)} == BY_GATES & own.keys()
    assert all(found.get(name) == emulated.get(name) for name in BY_GATES)
    assert own["system:node"] == found["system:node"] != emulated["system:node"]
    before, emulated = rules("1.36"), rules("1.36", "1.37")
    assert emulated.keys() == before.keys(), "roles that come with gates of 1.37 are not there"
    assert emulated["system:node"] == before["system:node"]


@pytest.mark.parametrize(("minor", "binary"), [("1.34", "1.36"), ("1.35", "1.36"), ("1.36", "1.37")])
def test_the_apis_are_those_of_the_emulated_minor(minor: str, binary: str) -> None:
    def served(*release: str) -> set[object]:
        registry = builtin_registry(release=release_of((), *release))
        return {key for key, _ in registry.kinds() if registry.get(*key) in registry.of_version(*key[:2])}

    assert served(binary, minor) == served(minor)
