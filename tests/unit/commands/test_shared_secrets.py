"""The Secrets that gateways share: made once, kept, completed; their certificates are renewed in time."""

from __future__ import annotations

import copy
from base64 import b64decode
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from gateway.commands.shared_secrets import Namespace, WantedSecrets, data_of, make
from gateway.jsontypes import JsonObject
from gateway.transfer.cluster import ApiError

WANTED = WantedSecrets("api", "https://api:443", etcd="api-etcd", etcd_domain="api-etcd.default.svc")


class Api:
    """Secrets as an API server keeps them; what `before_writing` does comes between a client's read and its write."""

    def __init__(self) -> None:
        self.secrets: dict[str, JsonObject] = {}
        self.writes = 0
        self.before_writing: Any = None

    async def ask(self, method: str, path: str, body: JsonObject | None = None) -> JsonObject:
        name = path.rpartition("/")[2]
        if method == "GET":
            if name not in self.secrets:
                raise ApiError(404, "NotFound", name, {})
            return copy.deepcopy(self.secrets[name])
        assert body is not None
        if (others := self.before_writing) is not None:
            self.before_writing = None
            await others()
        name = body["metadata"]["name"]
        there = self.secrets.get(name, {}).get("metadata", {}).get("resourceVersion")
        if there != body["metadata"].get("resourceVersion"):
            raise ApiError(409, "Conflict", name, {})
        self.writes += 1
        metadata = {**body["metadata"], "resourceVersion": str(self.writes)}
        self.secrets[name] = {**body, "metadata": metadata}
        return {}

    def data(self) -> dict[str, dict[str, bytes]]:
        return {name: data_of(secret) for name, secret in self.secrets.items()}

    async def make(self, wanted: WantedSecrets = WANTED) -> None:
        await make(wanted, Namespace(self, "default", {"a": "b"}))  # type: ignore[arg-type]  # as much as is asked of a Cluster


@pytest.fixture
async def api() -> Api:
    made = Api()
    await made.make()
    return made


async def test_all_is_made_once(api: Api) -> None:
    before, writes = api.data(), api.writes
    assert {name: sorted(data) for name, data in before.items()} == {
        "api-identity": ["admin-token", "ca.crt", "ca.key", "service-account.key"],
        "api-kubeconfig": ["kubeconfig"],
        "api-etcd-ca": ["ca.crt", "ca.key"],
        "api-etcd-member": ["ca.crt", "tls.crt", "tls.key"],
        "api-etcd-client": ["ca.crt", "tls.crt", "tls.key"],
    }
    assert all(secret["metadata"]["labels"] == {"a": "b"} for secret in api.secrets.values())
    await api.make()
    assert (api.data(), api.writes) == (before, writes)


async def test_what_is_missing_comes_back_and_nothing_else_changes(api: Api) -> None:
    before = api.data()
    del api.secrets["api-etcd-client"], api.secrets["api-identity"]["data"]["admin-token"]
    await api.make()
    after = api.data()
    assert {name for name in before if before[name] != after[name]} == {
        "api-etcd-client",
        "api-identity",
        "api-kubeconfig",
    }
    assert after["api-identity"]["ca.key"] == before["api-identity"]["ca.key"]
    assert after["api-etcd-client"]["ca.crt"] == before["api-etcd-client"]["ca.crt"]


async def test_certificates_that_others_made_stay(api: Api) -> None:
    del api.secrets["api-etcd-ca"]
    before = api.data()
    await api.make()
    assert api.data() == before


async def test_helm_is_told_to_leave_what_was_of_a_release(api: Api) -> None:
    metadata = api.secrets["api-identity"]["metadata"]
    metadata["annotations"] = {"mine": "1"}
    before = api.data()
    await api.make()
    assert api.data() == before
    annotations = api.secrets["api-identity"]["metadata"]["annotations"]
    assert annotations == {"mine": "1", "helm.sh/resource-policy": "keep"}


async def test_of_two_at_once_the_first_counts() -> None:
    api, first = Api(), {}

    async def others() -> None:
        await api.make()
        first.update(api.data())

    api.before_writing = others
    await api.make()
    assert first and api.data() == first


async def test_certificates_of_etcd_are_renewed_by_its_ca() -> None:
    api = Api()
    wanted = WantedSecrets("api", "https://api", etcd="e", etcd_domain="e.svc")
    await api.make(
        replace(wanted, validity=timedelta(minutes=64))
    )  # of which CAs begin an hour, and others 5 minutes ago
    before = api.data()
    await api.make(wanted)
    renewed = api.data()
    assert renewed["e-ca"] == before["e-ca"] and renewed["e-member"]["tls.crt"] != before["e-member"]["tls.crt"]
    authority = x509.load_pem_x509_certificate(renewed["e-ca"]["ca.crt"])
    x509.load_pem_x509_certificate(renewed["e-member"]["tls.crt"]).verify_directly_issued_by(authority)


async def test_members_serve_and_ask_and_gateways_ask_alone(api: Api) -> None:
    def of(name: str) -> x509.Certificate:
        return x509.load_pem_x509_certificate(b64decode(api.secrets[name]["data"]["tls.crt"]))

    member, client = of("api-etcd-member"), of("api-etcd-client")
    assert member.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value == "api-etcd"
    names = member.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "*.api-etcd.default.svc" in names.get_values_for_type(x509.DNSName)
    usages = [set(each.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value) for each in (member, client)]
    assert usages[1] == {ExtendedKeyUsageOID.CLIENT_AUTH}
    assert usages[0] == usages[1] | {ExtendedKeyUsageOID.SERVER_AUTH}
