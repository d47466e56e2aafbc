"""Gives each namespace the service account `default` and the ConfigMap kube-root-ca.crt.

Source: page "Managing Service Accounts".
"""

from __future__ import annotations

from functools import cached_property

from gateway.controllers.keyed_controller import KeyedController, is_being_deleted
from gateway.http.status import StatusError
from gateway.jsontypes import JsonObject
from gateway.pem import certificates_in
from gateway.settings.config import Settings
from storage.entry import Entry

DEFAULT_ACCOUNT, ROOT_CA = "default", "kube-root-ca.crt"
_DESCRIPTION = "kubernetes.io/description"
_ROOT_CA_DESCRIPTION = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
)


class ServiceAccounts(KeyedController):
    """Creates the service account `default` if it is missing. Its queue has keys of namespaces."""

    queue_name = "serviceaccount"
    resources = ("namespaces", "serviceaccounts")

    def on_update(self, resource: str, entry: Entry) -> None:
        if resource == "namespaces":
            self.queue.add(entry.key)

    def on_delete(self, resource: str, entry: Entry) -> None:
        if resource == "serviceaccounts":
            namespace, name = self.place(resource, entry.key)
            if name == DEFAULT_ACCOUNT:
                self.queue.add(self.key("namespaces", "", namespace))

    async def reconcile(self, key: bytes) -> None:
        namespace = self.cached(key)
        if namespace is None or is_being_deleted(namespace):
            return
        name = namespace["metadata"]["name"]
        if self.cached(self.key("serviceaccounts", name, DEFAULT_ACCOUNT)) is None:
            accounts = self.actor.of("", "v1", "serviceaccounts")
            with ending_namespace_is_fine():
                await self.actor.create(accounts, name, {"metadata": {"name": DEFAULT_ACCOUNT}})


class RootCertificates(KeyedController):
    """Creates the ConfigMap kube-root-ca.crt of each namespace, and restores it. Its queue has keys of namespaces."""

    queue_name = "root_ca_cert_publisher"
    resources = ("namespaces", "configmaps")

    @cached_property
    def data(self) -> dict[str, str]:
        """The data of the ConfigMap; empty if the file of the serving certificate's CA can't be read."""
        found = serving_ca(self.actor.endpoints.services.settings)
        return {"ca.crt": found} if found is not None else {}

    def authorities_changed(self) -> None:
        self.__dict__.pop("data", None)
        for entry in self.entries("namespaces"):
            self.queue.add(entry.key)

    def on_update(self, resource: str, entry: Entry) -> None:
        if resource == "namespaces":
            self.queue.add(entry.key)
        else:
            self.on_delete(resource, entry)

    def on_delete(self, resource: str, entry: Entry) -> None:
        if resource == "configmaps" and entry.key.endswith(b"/" + ROOT_CA.encode()):
            self.queue.add(self.key("namespaces", "", self.place(resource, entry.key)[0]))

    async def reconcile(self, key: bytes) -> None:
        namespace = self.cached(key)
        if namespace is None or is_being_deleted(namespace) or not self.data:
            return
        name, maps = namespace["metadata"]["name"], self.actor.of("", "v1", "configmaps")
        present = self.cached(self.key("configmaps", name, ROOT_CA))
        if present is None:
            meta = {"name": ROOT_CA, "annotations": {_DESCRIPTION: _ROOT_CA_DESCRIPTION}}
            with ending_namespace_is_fine():
                await self.actor.create(maps, name, {"metadata": meta, "data": self.data})
        elif present.get("data") != self.data:
            await self.actor.change(maps, name, ROOT_CA, self._restore)

    def _restore(self, obj: JsonObject) -> bool:
        obj["data"] = dict(self.data)
        obj["metadata"].setdefault("annotations", {})[_DESCRIPTION] = _ROOT_CA_DESCRIPTION
        return True


def serving_ca(settings: Settings) -> str | None:
    """The certificates of the serving certificate's CA as PEM; None if their file can't be read."""
    path = settings.tls_cert_file or settings.cert_dir / "ca.crt"
    try:
        return certificates_in(path.read_bytes()).decode("ascii") or None  # not a key in the same file
    except (OSError, UnicodeDecodeError):
        return None


class ending_namespace_is_fine:  # used as a block, as contextlib.suppress
    """Suppresses the StatusError of a write whose namespace is being deleted, or gone."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, StatusError):
            return False
        causes = (error.details or {}).get("causes") or ()
        ends = any(cause.get("reason") == "NamespaceTerminating" for cause in causes)
        return ends or (error.reason == "NotFound" and (error.details or {}).get("kind") == "namespaces")
