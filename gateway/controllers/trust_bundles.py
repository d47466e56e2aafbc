"""Publishes the serving certificate's CA as a ClusterTrustBundle of the signer kubernetes.io/kube-apiserver-serving.

Source: KEP-3257, and page "Certificates and Certificate Signing Requests", "Cluster trust bundles". Other bundles of
that signer are deleted: they have a former CA.
"""

from __future__ import annotations

import logging
from functools import cached_property
from hashlib import sha256

from gateway.controllers.keyed_controller import KeyedController
from gateway.controllers.service_accounts import serving_ca
from gateway.http.status import StatusError
from gateway.jsontypes import JsonObject
from gateway.settings.config import Settings
from gateway.validation.trust_bundle import validate_anchors
from gateway.writing.options import DeleteOptions
from storage.entry import Entry

logger = logging.getLogger(__name__)

SIGNER = "kubernetes.io/kube-apiserver-serving"
_KIND = ("certificates.k8s.io", "v1", "clustertrustbundles")
_NAMED = SIGNER.encode()  # an object without it is of another signer


class ServingTrustBundle(KeyedController):
    """The controller. Its queue has one key, the bundle's. Does nothing if the kind is not served."""

    queue_name = "ca_cert_publisher_cluster_trust_bundles"
    resources = (_KIND[2],)
    workers = 1

    @cached_property
    def spec(self) -> JsonObject | None:
        """The spec of the bundle; None if the CA can't be read."""
        found = serving_ca(self.actor.endpoints.services.settings)
        return {"signerName": SIGNER, "trustBundle": found} if found else None

    def authorities_changed(self) -> None:
        self.__dict__.pop("spec", None)
        self._look()

    def begin(self, prefix: bytes, keys: set[bytes]) -> None:
        self._look()

    def on_update(self, resource: str, entry: Entry) -> None:
        if _NAMED in entry.tail:
            self._look()

    def on_delete(self, resource: str, entry: Entry) -> None:
        self.on_update(resource, entry)

    def _look(self) -> None:
        if self.spec is not None and _KIND not in self.actor.endpoints.registry.unserved:
            self.queue.add(self.key(_KIND[2], "", bundle_name(self.spec["trustBundle"])))

    async def reconcile(self, key: bytes) -> None:
        spec, bundles = self.spec, self.actor.of(*_KIND)
        if spec is None:
            return
        name = bundle_name(spec["trustBundle"])
        present = self.cached(key)
        if present is None:
            try:
                await self.actor.create(bundles, "", {"metadata": {"name": name}, "spec": dict(spec)})
            except StatusError as error:
                if error.reason != "Invalid":
                    raise
                logger.warning("the serving certificate's CA is not published: %s", error.message)
                return
        elif present["spec"].get("trustBundle") != spec["trustBundle"]:

            def restore(obj: JsonObject) -> bool:
                obj["spec"]["trustBundle"] = spec["trustBundle"]
                return True

            await self.actor.change(bundles, "", name, restore)
        for entry in list(self.entries(_KIND[2])):
            if entry.key != key and _NAMED in entry.tail:
                other = self.cached(entry.key)
                if other is not None and other["spec"].get("signerName") == SIGNER:
                    await self.delete(bundles, other, DeleteOptions())


def can_be_published(settings: Settings) -> bool:
    """Whether the file of the serving certificate has certificates, and a bundle takes them all."""
    found = serving_ca(settings)
    return found is not None and not validate_anchors(found, "")


def bundle_name(certificates: str) -> str:
    """The name of the bundle: the signer's, and the digest of its certificates."""
    return f"{SIGNER.replace('/', ':')}:{sha256(certificates.encode()).digest()[:12].hex()}"
