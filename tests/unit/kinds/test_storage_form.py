"""Values that other servers have stored are read in each encoding, and unreadable ones are refused."""

from __future__ import annotations

import pytest

from gateway.jsontypes import dumps, loads
from storage.entry import MARK
from tests.unit.kinds.builtin import canonicaliser_of

configmap = canonicaliser_of("", "v1", "ConfigMap")


def field(number: int, content: bytes) -> bytes:
    """A length-delimited protobuf field."""
    assert len(content) < 128
    return bytes([number << 3 | 2, len(content)]) + content


def protobuf(api_version: bytes, kind: bytes, raw: bytes) -> bytes:
    """A value in kube-apiserver's storage form."""
    return b"k8s\0" + field(1, field(1, api_version) + field(2, kind)) + field(2, raw) + field(3, b"") + field(4, b"")


RAW = field(1, field(1, b"a") + field(3, b"n") + field(5, b"u-1")) + field(2, field(1, b"key") + field(2, b"value"))


def test_protobuf_is_read_as_json_is() -> None:
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "n", "name": "a", "uid": "u-1"}}
    stored = configmap(protobuf(b"v1", b"ConfigMap", RAW))
    assert stored == configmap(dumps({**obj, "data": {"key": "value"}}))
    assert stored.startswith(b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{') and stored.endswith(MARK)
    assert loads(stored)["data"] == {"key": "value"}


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (protobuf(b"v9", b"ConfigMap", RAW), 'no kind "ConfigMap" is registered for version "v9" in scheme'),
        (protobuf(b"v1", b"Secret", RAW), 'no kind "Secret" is registered for version "v1" in scheme'),
        (protobuf(b"v1", b"ConfigMap", RAW[:-1]), "unexpected EOF"),
        (b"k8s\0", "empty body"),
        (b'{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a"}}', 'no kind "Secret" is registered'),
        (b'{"kind":"ConfigMap","apiVersion":7,"metadata":{"name":"a"}}', 'no kind "ConfigMap" is registered'),
        (b'{"kind":"ConfigMap","apiVersion":"v1","metadata":7}', "cannot unmarshal number"),
        (b"[]", "no JSON object"),
        (b"", "empty document"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_reason(value: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        configmap(value)


def test_versions_that_are_only_stored_are_read() -> None:
    read = canonicaliser_of("admissionregistration.k8s.io", "v1", "MutatingAdmissionPolicy")
    obj = {"kind": "MutatingAdmissionPolicy", "metadata": {"name": "a"}, "spec": {"failurePolicy": "Ignore"}}
    stored = loads(read(dumps({"apiVersion": "admissionregistration.k8s.io/v1beta1", **obj})))
    assert (stored["apiVersion"], stored["spec"]["failurePolicy"]) == ("admissionregistration.k8s.io/v1", "Ignore")
