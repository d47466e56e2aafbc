"""The rules of ServiceAccount that no request in memory reaches."""

from __future__ import annotations

from inspect import isawaitable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gateway.admission.chain import PluginParts
from gateway.admission.plugins.service_account import _MANY, MOUNT_PATH, PLUGIN, _mount_token
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


@pytest.mark.parametrize("many", [1, _MANY + 1])
@pytest.mark.parametrize(
    ("first", "others", "volume"), [(False, False, True), (True, False, True), (False, True, True), (True, True, False)]
)
async def test_the_token_has_a_volume_if_any_container_mounts_it(
    many: int, first: bool, others: bool, volume: bool
) -> None:
    """A container that mounts another volume at the token's path does not. Many are looked at in steps."""

    def container(has_another: bool) -> dict[str, Any]:
        return {"volumeMounts": [{"name": "own", "mountPath": MOUNT_PATH}]} if has_another else {}

    spec: dict[str, Any] = {"initContainers": [container(first)], "containers": [container(others)] * many}
    admission: Any = SimpleNamespace(of_spec=lambda what, make: "token", changed=lambda pod: pod)
    found = _mount_token({"spec": spec}, spec, admission)
    if isawaitable(found):
        await found
    assert [each["name"] for each in spec.get("volumes", ())] == ["token"] * volume
    mounted = [each["volumeMounts"][0]["name"] for each in (*spec["initContainers"], *spec["containers"])]
    assert mounted == [("own" if first else "token"), *["own" if others else "token"] * many]
