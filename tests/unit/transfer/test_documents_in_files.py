"""Files of objects are read as they were written, by this program and by other YAML readers."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gateway.jsontypes import JsonObject
from gateway.transfer.belongings import comes_by_itself, stripped
from gateway.transfer.documents import DirectorySink, InvalidDocument, StreamSink, read_all
from gateway.transfer.order import rank

# what a reader of YAML could take for something else than a text
ODD = (
    "y",
    "n",
    "N",
    "off",
    "yes",
    "1e3",
    "0x1f",
    "010",
    "1_000",
    "~",
    "null",
    "2020-01-01",
    ".5",
    "-",
    "1:30",
    "=",
    "<<",
)
PLAIN = st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("\n "), max_size=20)
TEXT = PLAIN | st.sampled_from(ODD)
VALUE: st.SearchStrategy[Any] = st.recursive(
    TEXT | st.booleans() | st.none() | st.integers(-(2**53), 2**53),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


def made(**fields: Any) -> JsonObject:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "b"}, **fields}


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("documents")


@given(values=st.lists(VALUE, min_size=1, max_size=3), format=st.sampled_from(["yaml", "json"]))
def test_streams_come_back(place: Path, values: list[Any], format: str) -> None:
    objects = [made(data=value) for value in values]
    sink = StreamSink(file := io.BytesIO(), format)
    for obj in objects:
        sink.put("configmaps", obj)
    (path := place / f"all.{format}").write_bytes(file.getvalue())
    assert [obj for _, obj in read_all([path])] == objects
    if format == "yaml":
        assert list(yaml.safe_load_all(file.getvalue())) == objects


@given(st.binary(max_size=60))
def test_files_of_anybody_are_read_or_refused(place: Path, data: bytes) -> None:
    (path := place / "any.yaml").write_bytes(data)
    try:
        assert all(obj["metadata"]["name"] for _, obj in read_all([path]))
    except InvalidDocument as error:
        assert str(path) in str(error)


def test_directories_have_a_file_each(tmp_path: Path) -> None:
    sink = DirectorySink(tmp_path, "yaml")
    sink.put("configmaps", made())
    sink.put("namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "b"}})
    sink.put(
        "odds.example.org", {"apiVersion": "v1", "kind": "Odd", "metadata": {"name": "../../x", "namespace": ".."}}
    )
    files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.yaml")}
    assert files == {
        "b/configmaps/a.yaml",
        "_cluster/namespaces/b.yaml",
        "%2E%2E/odds.example.org/..%2F..%2Fx.yaml",
    }
    assert {path.stat().st_mode & 0o777 for path in tmp_path.rglob("*.yaml")} == {0o600}
    assert {obj["kind"] for _, obj in read_all([tmp_path])} == {"ConfigMap", "Namespace", "Odd"}


def test_lists_are_taken_apart(tmp_path: Path) -> None:
    (path := tmp_path / "list.json").write_text(
        json.dumps({"kind": "List", "apiVersion": "v1", "items": [made(), made()]})
    )
    assert [obj for _, obj in read_all([path])] == [made(), made()]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [", "line"),
        ("kind: A\nkind: B", "already set"),
        ("x", "needs apiVersion, kind and metadata"),
        ("{", "not valid JSON"),
        ("apiVersion: v1\nkind: Pod\nmetadata: {}", "a Pod has no metadata.name"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, said: str) -> None:
    (path := tmp_path / "wrong.yaml").write_text(text)
    with pytest.raises(InvalidDocument) as caught:
        list(read_all([path]))
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_what_the_server_gave_is_left_out() -> None:
    obj = made(status={"a": 1})
    obj["metadata"] |= {
        "uid": "u",
        "resourceVersion": "1",
        "managedFields": [{}],
        "generation": 2,
        "labels": {"a": "b"},
    }
    assert stripped(obj) == made(metadata={"name": "a", "namespace": "b", "labels": {"a": "b"}})
    assert stripped(obj, status=True)["status"] == {"a": 1} and obj["metadata"]["uid"] == "u"
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {},
        "spec": {"clusterIP": "10.0.0.1", "clusterIPs": []},
    }
    assert stripped(service)["spec"] == {}
    headless = {"apiVersion": "v1", "kind": "Service", "metadata": {}, "spec": {"clusterIP": "None"}}
    assert stripped(headless) == headless
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"labels": {"controller-uid": "u", "a": "b"}},
        "spec": {"selector": {}, "template": {"metadata": {"labels": {"batch.kubernetes.io/controller-uid": "u"}}}},
    }
    assert stripped(job)["spec"] == {"template": {"metadata": {"labels": {}}}}
    assert stripped(job)["metadata"]["labels"] == {"a": "b"}


@pytest.mark.parametrize(
    ("changed", "itself"),
    [
        ({}, False),
        ({"metadata": {"name": "kube-root-ca.crt", "namespace": "b"}}, True),
        ({"metadata": {"name": "a", "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"}}}, True),
        ({"metadata": {"name": "a", "ownerReferences": [{"controller": True}]}}, True),
        ({"metadata": {"name": "a", "ownerReferences": [{}]}}, False),
        ({"metadata": {"name": "a", "deletionTimestamp": "x"}}, True),
        ({"kind": "Secret", "type": "kubernetes.io/service-account-token"}, True),
        ({"kind": "Service", "metadata": {"name": "kubernetes", "namespace": "default"}}, True),
    ],
)
def test_what_comes_by_itself(changed: dict[str, Any], itself: bool) -> None:
    assert comes_by_itself(made(**changed)) == itself


def test_what_others_need_is_made_first() -> None:
    kinds = [
        ("apps", "Deployment"),
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
        ("", "Service"),
    ]
    kinds += [("apiextensions.k8s.io", "CustomResourceDefinition"), ("", "Namespace")]
    assert [kind for _, kind in sorted(kinds, key=lambda each: rank(*each))] == [
        "Namespace",
        "CustomResourceDefinition",
        "Service",
        "Deployment",
        "ValidatingWebhookConfiguration",
    ]
    assert rank("", "Pod") < rank("", "Pod", owned=True) < rank(*kinds[1])
