"""Each source of a projected volume is checked by itself, also where it is the only one of its kind."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.validation.field import FieldError
from gateway.validation.pod_options import PodOptions
from gateway.validation.projected_volumes import validate_projected

CERTIFICATE = {"signerName": "e.com/s", "keyType": "ED25519", "credentialBundlePath": "c"}
BUNDLE = {"name": "b", "path": "b"}
TOKEN = {"path": "t", "expirationSeconds": 600}
SECONDS = ["v.sources[0].serviceAccountToken.expirationSeconds"]


def fields(*sources: dict[str, Any]) -> list[str]:
    errors: list[FieldError] = []
    validate_projected({"sources": list(sources), "defaultMode": 0o644}, "v", errors, PodOptions())
    return [each.field for each in errors]


@pytest.mark.parametrize(
    ("sources", "wrong"),
    [
        ([{"podCertificate": CERTIFICATE}, {"clusterTrustBundle": BUNDLE}, {"serviceAccountToken": TOKEN}], []),
        ([{"podCertificate": {**CERTIFICATE, "keyType": "X"}}], ["v.sources[0].podCertificate.keyType"]),
        ([{"clusterTrustBundle": {"path": "b"}}], ["v.sources[0].clusterTrustBundle"]),
        ([{"serviceAccountToken": {**TOKEN, "expirationSeconds": 599}}], SECONDS),
        ([{"serviceAccountToken": {**TOKEN, "expirationSeconds": (1 << 32) + 1}}], SECONDS),
        ([{"serviceAccountToken": {**TOKEN, "path": ""}}], ["v.path"]),
        ([{"secret": {"name": ""}}], ["v.sources[0].secret.name"]),
        ([{"secret": {"name": "s"}, "podCertificate": CERTIFICATE}], ["v.sources[0]"]),
        ([{"secret": {"name": "s"}, "configMap": {"name": "c"}}], ["v.sources[0]"]),
        ([{"configMap": {"name": name, "items": [{"key": "k", "path": "p"}]}} for name in "ab"], ["v"]),
        ([{"podCertificate": CERTIFICATE}, {"clusterTrustBundle": {**BUNDLE, "path": "c"}}], ["v"]),
    ],
)
def test_each_source_is_checked(sources: list[dict[str, Any]], wrong: list[str]) -> None:
    assert fields(*sources) == wrong
