"""Policies of files, which no client can change (page "Manifest-Based Admission Control")."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer, Refused, ask
from apiserver_gateway.testing.requests import answer
from tests.forked import api_server

VERSION = "admissionregistration.k8s.io/v1"
PATH = f"/apis/{VERSION}"
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
RELOADS = "apiserver_manifest_admission_config_controller_automatic_reloads_total"


def rules(group: str, *resources: str, operations: tuple[str, ...] = ("*",)) -> dict[str, Any]:
    rule = {"apiGroups": [group], "apiVersions": ["*"], "resources": list(resources), "operations": list(operations)}
    return {"resourceRules": [rule]}


def validating(name: str, constraints: dict[str, Any], expression: str, **spec: Any) -> str:
    """A policy and its binding, as two documents."""
    binding = {"policyName": name, "validationActions": ["Deny"]}
    validations = [{"expression": expression}]
    return _documents(
        "ValidatingAdmissionPolicy",
        name,
        {"matchConstraints": constraints, "validations": validations, **spec},
        binding,
    )


def mutating(name: str, constraints: dict[str, Any], expression: str) -> str:
    mutation = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}
    spec = {"matchConstraints": constraints, "mutations": [mutation], "reinvocationPolicy": "Never"}
    return _documents("MutatingAdmissionPolicy", name, spec, {"policyName": name})


def _documents(kind: str, name: str, spec: dict[str, Any], binding: dict[str, Any]) -> str:
    head = {"apiVersion": VERSION, "metadata": {"name": name}}
    return "\n---\n".join(
        json.dumps(each)
        for each in ({**head, "kind": kind, "spec": spec}, {**head, "kind": f"{kind}Binding", "spec": binding})
    )


def configured(directory: Path) -> str:
    """The flag of a configuration whose manifests are in the directories `validating` and `mutating`."""
    head, plugins = {"apiVersion": "apiserver.config.k8s.io/v1"}, []
    for sort in ("Validating", "Mutating"):
        name = f"{sort}AdmissionPolicy"
        manifests = directory / sort.lower()
        manifests.mkdir()
        configuration = {**head, "kind": f"{name}Configuration", "staticManifestsDir": str(manifests)}
        plugins.append({"name": name, "configuration": configuration})
    file = directory / "admission.yaml"
    file.write_text(json.dumps({**head, "kind": "AdmissionConfiguration", "plugins": plugins}))
    return f"--admission-control-config-file={file}"


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("manifests")


@pytest.fixture(scope="module")
def server(directory: Path) -> Iterator[ApiServer]:
    flag = configured(directory)
    guarded = rules("admissionregistration.k8s.io", "*", operations=("DELETE",))
    (directory / "validating" / "guard.yaml").write_text(
        validating("guard.static.k8s.io", guarded, "oldObject.metadata.name != 'kept'")
    )
    label = "Object{metadata: Object.metadata{labels: {'by': 'file'}}}"
    (directory / "mutating" / "label.yml").write_text(
        mutating("label.static.k8s.io", rules("", "configmaps", operations=("CREATE",)), label)
    )
    with api_server(flag) as api:
        yield api


def policy(name: str) -> dict[str, Any]:
    spec = {"matchConstraints": rules("", "pods"), "validations": [{"expression": "true"}]}
    return {"metadata": {"name": name}, "spec": spec}


def reloads(server: ApiServer, status: str) -> float:
    with answer(server, "GET", "/metrics") as answered:
        text = answered.read().decode()
    lines = [line for line in text.splitlines() if line.startswith(RELOADS) and f'status="{status}"' in line]
    return sum(float(line.rpartition(" ")[2]) for line in lines if 'plugin="ValidatingAdmissionPolicy"' in line)


def test_a_policy_of_a_file_guards_policies_which_no_other_does(server: ApiServer) -> None:
    for name in ("kept", "gone"):
        ask(server, "POST", f"{PATH}/validatingadmissionpolicies", policy(name))
    with pytest.raises(
        Refused, match=r"ValidatingAdmissionPolicy 'guard.static.k8s.io' with binding .* denied request"
    ):
        ask(server, "DELETE", f"{PATH}/validatingadmissionpolicies/kept")
    ask(server, "DELETE", f"{PATH}/validatingadmissionpolicies/gone")


def test_a_mutating_policy_of_a_file_changes_what_is_made(server: ApiServer) -> None:
    made = ask(server, "POST", CONFIGMAPS, {"metadata": {"name": "labelled"}})
    assert made["metadata"]["labels"] == {"by": "file"}


def test_files_that_change_count_and_those_that_are_wrong_do_not(server: ApiServer, directory: Path) -> None:
    new = directory / "validating" / "new.json"
    new.write_text(validating("new.static.k8s.io", rules("", "configmaps"), "object.metadata.name != 'no'"))
    refused = _eventually_refused(server)
    assert "'new.static.k8s.io'" in refused
    before = reloads(server, "failure")
    new.write_text(validating("new.static.k8s.io", rules("", "configmaps"), "object.metadata.name !="))
    deadline = time.monotonic() + 60
    while reloads(server, "failure") == before:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert _eventually_refused(server) == refused


def _eventually_refused(server: ApiServer) -> str:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            ask(server, "POST", f"{CONFIGMAPS}?dryRun=All", {"metadata": {"name": "no"}})
        except Refused as error:
            return str(error)
        time.sleep(0.05)
    raise AssertionError("the file is not in force")
