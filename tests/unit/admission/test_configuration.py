"""--admission-control-config-file: which configurations are read, and which are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gateway.admission.configuration import InvalidConfiguration, read_documents
from gateway.admission.plugins import configure
from gateway.admission.tolerations import covers, merged

GROUP = "apiserver.config.k8s.io/v1"
EVENTS = "eventratelimit.admission.k8s.io/v1alpha1"


def file(directory: Path, *plugins: Any, **more: Any) -> Path:
    path = directory / "admission.yaml"
    path.write_text(json.dumps({"apiVersion": GROUP, "kind": "AdmissionConfiguration", "plugins": plugins, **more}))
    return path


def test_configurations_are_inline_or_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text("a: b")
    inline = {"name": "A", "configuration": {"x": 1}, "path": "nowhere"}
    path = file(tmp_path, inline, {"name": "B", "path": "other.yaml"}, {"name": "C"}, {"name": "A", "path": "nowhere"})
    assert read_documents(path) == {"A": {"x": 1}, "B": {"a": "b"}}


def test_a_file_of_the_old_form_is_the_configuration_itself(tmp_path: Path) -> None:
    path = tmp_path / "old.yaml"
    path.write_text("podNodeSelectorPluginConfig: {ns: env=test}\n")
    assert set(read_documents(path)) == {"ImagePolicyWebhook", "PodNodeSelector"}
    found: Any = configure(path, {"PodNodeSelector"}, ())["PodNodeSelector"]
    assert found.allowed == {"ns": {"env": "test"}}


def security(**more: Any) -> dict[str, Any]:
    kind = {"apiVersion": "pod-security.admission.config.k8s.io/v1", "kind": "PodSecurityConfiguration"}
    return {"name": "PodSecurity", "configuration": {**kind, **more}}


def events(*limits: Any) -> dict[str, Any]:
    return {
        "name": "EventRateLimit",
        "configuration": {"apiVersion": EVENTS, "kind": "Configuration", "limits": limits},
    }


@pytest.mark.parametrize(
    ("plugin", "problem"),
    [
        (security(defaults={"enforce": "x"}), 'PodSecurity: defaults.enforce: Invalid value: "x": must be one of'),
        (security(defaults={"warn-version": "1"}), 'defaults.warn-version: Invalid value: "1": must be "latest"'),
        (security(exemptions={"namespaces": ["a", "a"]}), 'exemptions.namespaces[1]: Duplicate value: "a"'),
        (security(exemptions={"runtimeClasses": ["A"]}), "exemptions.runtimeClasses[0]: Invalid value"),
        (security(exemptions={"usernames": [""]}), "exemptions.usernames[0]: Invalid value"),
        (security(other=1), 'unknown field "other"'),
        ({"name": "PodSecurity", "configuration": {"kind": "Other"}}, "it must be of kind PodSecurityConfiguration"),
        (events(), "EventRateLimit: limits: Invalid value: null: must not be empty"),
        (events({"type": "X", "qps": 1, "burst": 1}), 'limits[0].type: Unsupported value: "X"'),
        (events({"type": "User", "qps": 0, "burst": 1, "cacheSize": -1}), "limits[0].qps: Invalid value: 0"),
        ({"name": "ImagePolicyWebhook"}, "ImagePolicyWebhook: it needs a configuration"),
        (
            {"name": "ImagePolicyWebhook", "configuration": {"imagePolicy": {"kubeConfigFile": "/nowhere"}}},
            "imagePolicy.kubeConfigFile: No such file or directory: /nowhere",
        ),
        (
            {"name": "ImagePolicyWebhook", "configuration": {"imagePolicy": {"allowTTL": 1801}}},
            "imagePolicy.allowTTL: valid value is between 1s and 1800s, got 1801s",
        ),
        (
            {"name": "PodNodeSelector", "configuration": {"podNodeSelectorPluginConfig": {"n": "a"}}},
            "podNodeSelectorPluginConfig: invalid selector: [a]",
        ),
    ],
)
def test_what_is_wrong_is_said(plugin: Any, problem: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidConfiguration) as caught:
        configure(file(tmp_path, plugin), {plugin["name"]}, ())
    assert problem in str(caught.value)


def test_what_is_off_is_not_looked_at(tmp_path: Path) -> None:
    configure(file(tmp_path, events()), (), ())


def test_plug_ins_that_need_a_configuration_say_so() -> None:
    with pytest.raises(InvalidConfiguration, match="ImagePolicyWebhook"):
        configure(None, {"ImagePolicyWebhook"}, ())


ALL: dict[str, Any] = {"operator": "Exists"}
TEAM: dict[str, Any] = {"key": "team", "operator": "Exists"}
ONE: dict[str, Any] = {"key": "team", "operator": "Equal", "value": "a", "effect": "NoExecute", "tolerationSeconds": 5}


@pytest.mark.parametrize(
    ("wide", "narrow", "does"),
    [
        (ALL, ONE, True),
        (TEAM, ONE, True),
        (ONE, TEAM, False),
        ({**ONE, "tolerationSeconds": 4}, ONE, False),
        ({**ONE, "tolerationSeconds": 6}, ONE, True),
        ({**TEAM, "effect": "NoSchedule"}, ONE, False),
        ({"key": "team", "value": "a"}, ONE, True),  # no operator is Equal
        ({"key": "team", "value": "b"}, ONE, False),
    ],
)
def test_a_toleration_covers_narrower_ones(wide: Any, narrow: Any, does: bool) -> None:
    assert covers(wide, narrow) is does


def test_tolerations_that_others_cover_go_and_of_equal_ones_the_first_stays() -> None:
    assert merged([ONE, ONE], [TEAM]) == [TEAM]
    assert merged([ONE], [dict(ONE)]) == [ONE]
