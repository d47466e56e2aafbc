"""Invalid manifest files of policies and webhooks, and the error messages."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gateway.admission.configuration import InvalidConfiguration
from gateway.admission.manifests import Manifests
from gateway.admission.policies.files import configure
from gateway.kinds.builtin import builtin_registry
from gateway.release.minors import DEFAULT
from gateway.release.release import release_of

HEAD = {"apiVersion": "admissionregistration.k8s.io/v1"}
RULE = {"apiGroups": [""], "apiVersions": ["*"], "resources": ["pods"], "operations": ["*"]}
KIND = "ValidatingAdmissionPolicy"
NAME = "p.static.k8s.io"


def policy(name: str = NAME, **spec: Any) -> dict[str, Any]:
    spec = {"matchConstraints": {"resourceRules": [RULE]}, "validations": [{"expression": "true"}], **spec}
    return {**HEAD, "kind": KIND, "metadata": {"name": name}, "spec": spec}


def binding(**spec: Any) -> dict[str, Any]:
    spec = {"policyName": NAME, "validationActions": ["Deny"], **spec}
    return {**HEAD, "kind": f"{KIND}Binding", "metadata": {"name": NAME}, "spec": spec}


def read(directory: Path, minor: str = DEFAULT, **files: str) -> Manifests:
    for name, text in files.items():
        (directory / name.replace("_", ".")).write_text(text)
    document = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": f"{KIND}Configuration"}
    kinds = partial(builtin_registry, release=release_of(minor=minor))
    found = configure(KIND, {**document, "staticManifestsDir": str(directory)}, kinds)
    assert found is not None
    return found


def test_all_documents_and_lists_of_all_files_are_read_and_sorted_by_name(tmp_path: Path) -> None:
    documents = "\n---\n".join(json.dumps(each) for each in (policy("z.static.k8s.io"), binding()))
    typed = json.dumps({**HEAD, "kind": f"{KIND}List", "items": [policy()]})
    plain = json.dumps({"apiVersion": "v1", "kind": "List", "items": [policy("a.static.k8s.io")]})
    found = read(tmp_path, a_yaml=f"---\n{documents}\n---\n", b_json=typed, c_YML=plain, d_txt="{")
    assert [each["metadata"]["name"][0] for each in found.of(KIND)] == ["a", "p", "z"]
    assert [each["spec"]["policyName"] for each in found.of(f"{KIND}Binding")] == [NAME]
    assert found.of(KIND)[0]["spec"]["failurePolicy"] == "Fail"


@pytest.mark.parametrize(
    ("documents", "said"),
    [
        ([policy("plain")], '"plain" must have a name ending with ".static.k8s.io"'),
        ([policy(), policy()], f'duplicate name "{NAME}" found in file'),
        ([policy(paramKind={"apiVersion": "v1", "kind": "ConfigMap"})], "spec.paramKind is not supported for static"),
        ([policy(validations=[{"expression": "1 +"}])], "compilation failed"),
        ([policy(unknown=1)], 'strict decoding error: unknown field "spec.unknown"'),
        ([binding()], "which does not exist in the manifest directory"),
        ([policy(), binding(policyName="plain")], 'spec.policyName "plain" must end with ".static.k8s.io"'),
        (
            [policy(), binding(paramRef={"name": "x", "parameterNotFoundAction": "Deny"})],
            "spec.paramRef is not supported for static manifests",
        ),
        ([{"apiVersion": "v1", "kind": "ConfigMap"}], "unsupported resource type"),
    ],
)
def test_what_files_may_not_have_is_refused(tmp_path: Path, documents: list[Any], said: str) -> None:
    text = "\n---\n".join(map(json.dumps, documents))
    with pytest.raises(InvalidConfiguration) as refused:
        read(tmp_path, a_yaml=text)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("minor", "said"),
    [("1.34", "undeclared reference to 'distinct'"), ("1.36", "")],
)
def test_expressions_have_the_functions_of_the_served_minor(tmp_path: Path, minor: str, said: str) -> None:
    text = json.dumps(policy(validations=[{"expression": "[1].distinct() == [1]"}]))
    if not said:
        assert len(read(tmp_path, minor, a_yaml=text).of(KIND)) == 1
        return
    with pytest.raises(InvalidConfiguration, match=said):
        read(tmp_path, minor, a_yaml=text)


@pytest.mark.parametrize(
    ("minor", "said"),
    [("1.36", '.apiVersion: Invalid value: "v1/": version must'), ("1.37", "[0].apiVersion: Invalid value: ")],
)
def test_errors_have_the_words_of_the_served_minor(tmp_path: Path, minor: str, said: str) -> None:
    owner = {"apiVersion": "v1/", "kind": "ConfigMap", "name": "a", "uid": "u"}
    given = policy()
    given["metadata"]["ownerReferences"] = [owner]
    with pytest.raises(InvalidConfiguration) as refused:
        read(tmp_path, minor, a_yaml=json.dumps(given))
    assert f"metadata.ownerReferences{said}" in str(refused.value)
