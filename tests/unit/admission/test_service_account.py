"""The rules of ServiceAccount that no request in memory reaches."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from gateway.admission.chain import PluginParts
from gateway.admission.plugins.service_account import PLUGIN
from gateway.admission.record import Admission
from gateway.http.status import StatusError
from gateway.kinds.identity import core

ACCOUNT = {"metadata": {"name": "a", "namespace": "n"}}
OBJECTS = SimpleNamespace(cached=lambda resource, namespace, name: ACCOUNT)
SECRET = {"name": "v", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}


def review(obj: dict[str, Any], old: dict[str, Any] | None = None, subresource: str = "") -> None:
    validate = PLUGIN.make(cast(PluginParts, SimpleNamespace(objects=OBJECTS))).validate
    admission = SimpleNamespace(
        obj=obj, old=old, subresource=subresource, namespace="n", name="p", resource=core("pods"), operation="CREATE"
    )
    assert validate is not None and validate(cast(Admission, admission)) is None


def test_a_mirror_pod_has_no_secrets_when_it_is_created() -> None:
    """Its ephemeral containers are judged by its account, as those of other pods."""
    mirror = {
        "metadata": {"name": "p", "annotations": {"kubernetes.io/config.mirror": "x"}},
        "spec": {"serviceAccountName": "a", "containers": [{"name": "c", "env": [SECRET]}]},
    }
    review(mirror, mirror, "ephemeralcontainers")
    with pytest.raises(StatusError, match="a mirror pod may not reference service accounts"):
        review(mirror)
    del mirror["spec"]["serviceAccountName"]  # type: ignore[attr-defined]
    with pytest.raises(StatusError, match="a mirror pod may not reference secrets"):
        review(mirror)
