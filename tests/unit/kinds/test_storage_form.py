"""Values that other servers have stored are read in each encoding, and unreadable ones are refused."""

from __future__ import annotations

import pytest

from gateway.jsontypes import MOST_AT_ONCE, MOST_NAMES, dumps, loads, members
from gateway.release.early_versions import READABLE
from gateway.schema.errors import MOST_ITEMS
from storage.entry import MARK
from tests.unit.kinds.builtin import canonicaliser_of

configmap = canonicaliser_of("", "v1", "ConfigMap")


def varint(value: int) -> bytes:
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + varint(value >> 7)


def field(number: int, content: bytes) -> bytes:
    """A length-delimited protobuf field."""
    return varint(number << 3 | 2) + varint(len(content)) + content


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
        (b"[]", "is not a JSON object"),
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


@pytest.mark.parametrize(("place", "kind"), [(place, kind) for place in READABLE for kind in sorted(READABLE[place])])
def test_each_version_that_is_not_served_is_read_as_v1(place: tuple[str, str], kind: str) -> None:
    group, version = place
    read = canonicaliser_of(group, "v1", kind)
    head = {"kind": kind, "metadata": {"name": "a", "uid": "u"}}
    for stored in (dumps({"apiVersion": f"{group}/{version}", **head}), _in_protobuf(f"{group}/{version}", kind)):
        found = loads(read(stored))
        assert (found["apiVersion"], found["kind"]) == (f"{group}/v1", kind)
        assert found["metadata"]["name"] == "a"


def _in_protobuf(api_version: str, kind: str) -> bytes:
    return protobuf(api_version.encode(), kind.encode(), field(1, field(1, b"a") + field(5, b"u")))


def test_webhooks_of_v1beta1_have_its_defaults() -> None:
    read = canonicaliser_of("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration")
    hooks = [{"name": "a.b.c", "clientConfig": {"url": "https://a"}}, {"name": "d.e.f", "timeoutSeconds": 3}]
    head = {"kind": "ValidatingWebhookConfiguration", "metadata": {"name": "a"}, "webhooks": hooks}
    of_beta, with_own = loads(read(dumps({"apiVersion": "admissionregistration.k8s.io/v1beta1", **head})))["webhooks"]
    said = ("failurePolicy", "matchPolicy", "sideEffects", "timeoutSeconds", "admissionReviewVersions")
    assert [of_beta[name] for name in said] == ["Ignore", "Exact", "Unknown", 30, ["v1beta1"]]
    assert with_own["timeoutSeconds"] == 3
    stable, _ = loads(read(dumps({"apiVersion": "admissionregistration.k8s.io/v1", **head})))["webhooks"]
    assert [stable.get(name) for name in said] == ["Fail", "Equivalent", None, 10, None]


@pytest.mark.parametrize("kind", ["ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicyBinding"])
def test_bindings_of_v1alpha1_deny_without_a_parameter(kind: str) -> None:
    read = canonicaliser_of("admissionregistration.k8s.io", "v1", kind)
    for version, action in (("v1alpha1", "Deny"), ("v1beta1", None), ("v1", None)):
        spec = {"policyName": "p", "paramRef": {"name": "x"}}
        stored = {"apiVersion": f"admissionregistration.k8s.io/{version}", "kind": kind, "metadata": {"name": "a"}}
        assert loads(read(dumps({**stored, "spec": spec})))["spec"]["paramRef"].get("parameterNotFoundAction") == action


def test_other_defaults_of_old_versions_are_set() -> None:
    levels = canonicaliser_of("flowcontrol.apiserver.k8s.io", "v1", "PriorityLevelConfiguration")
    level = {
        "kind": "PriorityLevelConfiguration",
        "spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 0}},
    }
    meta = {"name": "a", "annotations": {"flowcontrol.k8s.io/preserve-zero-concurrency-shares": ""}}
    stored = {"apiVersion": "flowcontrol.apiserver.k8s.io/v1beta3", "metadata": meta, **level}
    assert loads(levels(dumps(stored)))["spec"]["limited"]["nominalConcurrencyShares"] == 30
    sets = canonicaliser_of("apps", "v1", "StatefulSet")
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": []}}
    old = {
        "apiVersion": "apps/v1beta1",
        "kind": "StatefulSet",
        "metadata": {"name": "a"},
        "spec": {"template": template},
    }
    found = loads(sets(dumps(old)))
    assert found["spec"]["updateStrategy"] == {"type": "OnDelete"}
    assert found["spec"]["selector"] == {"matchLabels": {"a": "b"}} and found["metadata"]["labels"] == {"a": "b"}
    requests = canonicaliser_of("certificates.k8s.io", "v1", "CertificateSigningRequest")
    asked = {
        "apiVersion": "certificates.k8s.io/v1beta1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": "a"},
    }
    found = loads(requests(dumps({**asked, "spec": {"request": ""}})))["spec"]
    assert (found["signerName"], found["usages"][0]) == ("kubernetes.io/legacy-unknown", "digital signature")


async def test_stored_objects_are_read_however_many_members_they_have() -> None:
    """etcd bounds their bytes, and another server has accepted them. The feed reads them on the event loop."""
    meta = {"namespace": "n", "name": "a", "uid": "u-1"}
    names = [f"{number:x}" for number in range(MOST_NAMES + 1)]
    fields = dumps({"f:data": {f"f:{name}": {} for name in names}})
    assert members(fields) > MOST_AT_ONCE
    entry = field(1, b"m") + field(2, b"Update") + field(6, b"FieldsV1") + field(7, field(1, fields))
    many = b"".join(field(2, field(1, name.encode()) + field(2, b"")) for name in names)
    raw = field(1, field(1, b"a") + field(3, b"n") + field(5, b"u-1") + field(17, entry)) + many
    stored = configmap(protobuf(b"v1", b"ConfigMap", raw))
    managers = [{"manager": "m", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": loads(fields)}]
    obj = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {**meta, "managedFields": managers}}
    assert stored == configmap(dumps({**obj, "data": dict.fromkeys(names, "")}))
    assert len(loads(stored)["data"]) == MOST_NAMES + 1


async def test_stored_objects_are_read_however_many_items_they_have() -> None:
    endpoints = canonicaliser_of("", "v1", "Endpoints")
    addresses = field(1, field(1, b"1.2.3.4")) * (MOST_ITEMS + 1)
    raw = field(1, field(1, b"a") + field(3, b"n") + field(5, b"u-1")) + field(2, addresses)
    stored = endpoints(protobuf(b"v1", b"Endpoints", raw))
    assert len(loads(stored)["subsets"][0]["addresses"]) == MOST_ITEMS + 1
    assert endpoints(stored) == stored
