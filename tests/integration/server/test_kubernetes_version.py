"""--kubernetes-version: a server behaves like the release of the minor that it names."""

from __future__ import annotations

import re

import pytest

from apiserver_gateway.testing import api_server
from apiserver_gateway.testing.requests import Refused, answer, ask
from apiserver_gateway.testing.server import ApiServer, ServerDidNotStart
from gateway.release.minors import DEFAULT, GIT_VERSIONS
from storage.embedded import EmbeddedEtcd

POLICIES = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies"
MIGRATIONS = "/apis/storagemigration.k8s.io/v1/storageversionmigrations"


def text_of(api: ApiServer, path: str) -> str:
    with answer(api, "GET", path) as answered:
        return answered.read().decode()


def status(api: ApiServer, path: str) -> int:
    try:
        ask(api, "GET", path)
    except Refused as error:
        return error.status
    return 200


@pytest.mark.parametrize(
    ("minor", "release"), [("1.34", "v1.34.4"), ("1.35", "v1.35.4"), ("1.36", "v1.36.3"), ("1.37", "v1.37.2")]
)
def test_a_server_says_that_it_is_the_release_of_its_minor(minor: str, release: str) -> None:
    with api_server("--controllers=-*", version=minor) as api:
        said = ask(api, "GET", "/version")
        assert (said["gitVersion"], f"{said['major']}.{said['minor']}") == (release, minor)
        assert ask(api, "GET", "/openapi/v3/version")["info"]["version"] == minor
        metrics, later = text_of(api, "/metrics"), minor >= "1.36"
        assert f'git_version="{release}"' in metrics
        gate = r'kubernetes_feature_enabled\{name="MutatingAdmissionPolicy",stage="[A-Z]*"\} (\S+)'
        assert [float(each) for each in re.findall(gate, metrics)] == [float(later)]
        for path in ("/flagz", "/statusz"):  # their gates are on from 1.36 on
            assert (path in ask(api, "GET", "/")["paths"]) is later
            assert later or status(api, path) == 404
        if later:
            assert f"kubernetes-version={minor}\n" in (flags := text_of(api, "/flagz"))
            assert "MutatingAdmissionPolicy=true" in flags


@pytest.mark.parametrize("minor", ["1.34", "1.35"])
def test_what_came_later_is_neither_found_nor_told_of(minor: str) -> None:
    with api_server("--controllers=-*", version=minor) as api:
        with pytest.raises(Refused) as refused:
            ask(api, "GET", POLICIES)
        assert refused.value.status == 404
        group = "/apis/admissionregistration.k8s.io/v1"
        for path in (group, f"/openapi/v3{group}", "/openapi/v2"):
            assert "mutatingadmissionpolicies" not in text_of(api, path)


@pytest.mark.parametrize(
    ("own", "emulated", "compatible"),
    [("", "1.36", "1.35"), ("", "1.35", "1.34"), ("", "1.34", "1.34"), ("1.36", "1.34", "1.33")],
)
def test_an_emulated_minor_has_its_apis_and_gates_and_the_servers_own_version(
    own: str, emulated: str, compatible: str
) -> None:
    with api_server("--controllers=-*", f"--emulated-version=kube={emulated}", version=own) as api:
        said = ask(api, "GET", "/version")
        release = GIT_VERSIONS[own or DEFAULT]
        assert (said["gitVersion"], f"{said['major']}.{said['minor']}") == (release, own or DEFAULT)
        assert f"{said['emulationMajor']}.{said['emulationMinor']}" == emulated
        assert f"{said['minCompatibilityMajor']}.{said['minCompatibilityMinor']}" == compatible
        assert status(api, POLICIES) == (200 if emulated == "1.36" else 404)
        assert status(api, MIGRATIONS) == 404
        binary = release.removeprefix("v")
        versions = f'binary="{binary}",component="kube",emulation="{emulated}",min_compat="{compatible}"'
        assert f"version_info{{{versions}}} 1" in text_of(api, "/metrics")
        assert ask(api, "GET", "/openapi/v3/version")["info"]["version"] == emulated
        assert ("/flagz" in ask(api, "GET", "/")["paths"]) is (emulated == "1.36")  # from which on its gate is on


def test_the_least_compatible_minor_is_in_version_metrics_and_flags() -> None:
    flags = ("--controllers=-*", "--emulated-version=1.35", "--min-compatibility-version=kube=1.33")
    flags += ("--feature-gates=ComponentFlagz=true",)
    with api_server(*flags, version="1.36") as api:
        said = ask(api, "GET", "/version")
        assert [said[name] for name in ("emulationMinor", "minCompatibilityMajor", "minCompatibilityMinor")] == [
            *("35", "1", "33")
        ]
        assert 'emulation="1.35",min_compat="1.33"} 1' in text_of(api, "/metrics")
        assert "min-compatibility-version=1.33\n" in text_of(api, "/flagz")


def test_a_minor_after_the_emulated_one_is_not_compatible() -> None:
    words = r"--min-compatibility-version: minCompatibilityVersion version 1\.37 is not between \[1\.33, 1\.36\]"
    flag = "--min-compatibility-version=1.37"
    with pytest.raises(ServerDidNotStart, match=words), api_server(flag, version="1.36"):
        pass


def test_a_minor_that_is_not_emulated_ends_the_start() -> None:
    words = r"--emulated-version: emulation version 1\.37 is not between \[1\.33, 1\.36\.0\]"
    with pytest.raises(ServerDidNotStart, match=words), api_server("--emulated-version=1.37", version="1.36"):
        pass


def test_objects_of_a_later_minor_stay_without_effect_under_an_earlier_one() -> None:
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": "labels"},
        "spec": {
            "matchConstraints": {
                "resourceRules": [
                    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
                ]
            },
            "reinvocationPolicy": "Never",
            "mutations": [
                {
                    "patchType": "ApplyConfiguration",
                    "applyConfiguration": {"expression": 'Object{metadata: Object.metadata{labels: {"by": "policy"}}}'},
                }
            ],
        },
    }
    binding = {**policy, "kind": "MutatingAdmissionPolicyBinding", "spec": {"policyName": "labels"}}
    with EmbeddedEtcd() as etcd:
        with api_server("--controllers=-*", etcd_servers=etcd.endpoint) as api:
            ask(api, "POST", POLICIES, policy)
            ask(api, "POST", POLICIES.replace("policies", "policybindings"), binding)
        with api_server("--controllers=-*", etcd_servers=etcd.endpoint, version="1.35") as api:
            made = ask(api, "POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "c"}})
            assert "labels" not in made["metadata"]
        with api_server("--controllers=-*", etcd_servers=etcd.endpoint) as api:
            assert ask(api, "GET", POLICIES)["items"][0]["metadata"]["name"] == "labels"


def test_a_minor_that_is_not_served_is_refused() -> None:
    with pytest.raises(ServerDidNotStart, match=r"give one of 1\.34, 1\.35, 1\.36, 1\.37"), api_server(version="1.38"):
        pass


def test_rules_whose_gate_is_off_in_a_minor_are_those_of_before() -> None:
    spec = {"ports": [{"port": 80}]}
    service = {"metadata": {"name": "1st"}, "spec": spec}
    pod = {
        "hostUsers": False,
        "containers": [{"name": "c", "image": "i", "securityContext": {"procMount": "Unmasked"}}],
    }
    namespace = {"metadata": {"name": "strict", "labels": {"pod-security.kubernetes.io/enforce": "baseline"}}}
    refused = {}
    for minor in ("1.34", "1.36"):
        with api_server("--controllers=-*", version=minor) as api:
            ask(api, "POST", "/api/v1/namespaces", namespace)
            account = {"metadata": {"name": "default"}}
            ask(api, "POST", "/api/v1/namespaces/strict/serviceaccounts", account)
            refused[minor] = [
                refusal_of(api, "/api/v1/namespaces/strict/services", service),
                refusal_of(api, "/api/v1/namespaces/strict/pods", {"metadata": {"name": "p"}, "spec": pod}),
            ]
    assert refused == {"1.34": [422, 403], "1.36": [0, 0]}


def refusal_of(api: ApiServer, path: str, body: dict[str, object]) -> int:
    try:
        ask(api, "POST", path, body)
    except Refused as error:
        return error.status
    return 0
