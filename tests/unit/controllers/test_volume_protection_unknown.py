"""A protection finalizer is kept while the use of the object is unknown."""

from __future__ import annotations

import pytest

from gateway.controllers.actor import Actor
from gateway.controllers.class_protection import CLASSES, ClassProtection
from gateway.controllers.keyed_controller import KeyedController
from gateway.controllers.volume_protection import ClaimProtection
from gateway.http.user import ITSELF
from gateway.jsontypes import JsonObject
from storage.errors import CorruptObject, Unavailable
from tests.unit.verbs.conftest import Api

SPEC = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
CLAIM: JsonObject = {"metadata": {"name": "a"}, "spec": SPEC}
CLAIMS, CLAIM_KEY = "/api/v1/namespaces/default/persistentvolumeclaims", b"/registry/persistentvolumeclaims/default/a"
CLASS: JsonObject = {"metadata": {"name": "a"}, "driverName": "d.example.com", "parameters": {"a": "b"}}


class Reads:
    """Says whether the cache is as new as etcd."""

    def __init__(self, *, fresh: bool) -> None:
        self.is_fresh = fresh

    async def fresh(self) -> bool:
        return self.is_fresh


@pytest.mark.parametrize(
    ("protection", "collection", "obj", "key"),
    [
        (ClaimProtection, CLAIMS, CLAIM, CLAIM_KEY),
        (ClassProtection, f"/apis/storage.k8s.io/v1/{CLASSES}", CLASS, b"/registry/volumeattributesclasses/a"),
    ],
)
async def test_a_cache_that_is_behind_says_nothing_of_who_uses_an_object(
    monkeypatch: pytest.MonkeyPatch, protection: type[KeyedController], collection: str, obj: JsonObject, key: bytes
) -> None:
    api = Api()
    assert (await api.send("POST", collection, obj))[0] == 201
    deleted = (await api.send("DELETE", f"{collection}/a"))[1]
    assert deleted["metadata"]["finalizers"], "it waits for the controller"

    controller, reads = protection(Actor(api.endpoints, ITSELF)), Reads(fresh=False)
    monkeypatch.setattr(api.store, "reads", reads, raising=False)
    with pytest.raises(Unavailable):
        await controller.reconcile(key)
    assert controller.cached(key) is not None
    reads.is_fresh = True
    await controller.reconcile(key)
    assert controller.cached(key) is None


async def test_a_pod_that_cannot_be_read_may_use_a_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    api = Api()
    monkeypatch.setattr(api.store, "reads", Reads(fresh=True), raising=False)
    await api.send("POST", CLAIMS, CLAIM)
    await api.send("DELETE", f"{CLAIMS}/a")
    api.store.spoil(b"/registry/pods/default/p", b"\xff")
    controller = ClaimProtection(Actor(api.endpoints, ITSELF))
    with pytest.raises(CorruptObject):
        await controller.reconcile(CLAIM_KEY)
    assert controller.cached(CLAIM_KEY) is not None
