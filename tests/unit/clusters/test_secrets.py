"""The Secret of a control plane: what is in it, and which one counts."""

from __future__ import annotations

from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest
import yaml

from gateway.access.keys import new_key
from gateway.clusters.definition import ClusterDefinition
from gateway.clusters.secrets import (
    add_authority,
    credentials_in,
    follow_ca,
    lacks_authority,
    new_client_authority,
    new_secret,
)
from gateway.settings.config import Settings

OF = ClusterDefinition("a", "u-1", frozenset(), frozenset(), "", "Ready", False, True)
CERTIFICATE = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


@pytest.fixture
def secret(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "both.pem").write_text(CERTIFICATE + new_key().decode())
    return new_secret(Settings(tls_cert_file=tmp_path / "both.pem"), OF, "https://h/clusters/a")


def test_a_key_in_the_file_of_the_certificate_is_not_given_away(secret: dict[str, Any]) -> None:
    cluster = yaml.safe_load(b64decode(secret["data"]["kubeconfig"]))["clusters"][0]["cluster"]
    assert b64decode(cluster["certificate-authority-data"]).decode() == CERTIFICATE


def test_only_a_whole_secret_of_the_control_plane_counts(secret: dict[str, Any]) -> None:
    found = credentials_in(secret, OF)
    assert found is not None and found.token and found.key
    for wrong in ({**secret["data"], "service-account.key": ""}, {**secret["data"], "token": ""}, {}):
        assert credentials_in({**secret, "data": wrong}, OF) is None
    secret["metadata"]["ownerReferences"][0]["uid"] = "u-2"
    assert credentials_in(secret, OF) is None


def test_a_ca_for_clients_is_added_where_there_is_none(secret: dict[str, Any]) -> None:
    assert not lacks_authority(secret) and not lacks_authority({})
    former = secret["data"].pop("client-ca.key")
    assert lacks_authority(secret)
    found = credentials_in(secret, OF)
    assert found is not None and found.authority and not found.authority_key
    add_authority(secret, new_client_authority(OF))
    assert not lacks_authority(secret) and secret["data"]["client-ca.key"] != former


def test_another_ca_takes_the_place_of_the_former_one(secret: dict[str, Any]) -> None:
    before, present = dict(secret["data"]), CERTIFICATE.replace("AAAA", "BBBB").encode()
    assert not follow_ca(secret, CERTIFICATE.encode())
    assert follow_ca(secret, present) and not follow_ca(secret, present)
    cluster = yaml.safe_load(b64decode(secret["data"]["kubeconfig"]))["clusters"][0]["cluster"]
    assert b64decode(cluster["certificate-authority-data"]) == b64decode(secret["data"]["ca.crt"]) == present
    kept = ["token", "service-account.key", "client-ca.crt", "client-ca.key"]
    assert [name for name in before if before[name] == secret["data"][name]] == kept


@pytest.mark.parametrize("data", [{}, {"ca.crt": ""}, {"ca.crt": "QQ==", "kubeconfig": "x"}])
def test_a_secret_of_other_content_is_left_alone(data: dict[str, Any]) -> None:
    assert not follow_ca({"data": dict(data)}, b"B") and not follow_ca({}, b"B")
