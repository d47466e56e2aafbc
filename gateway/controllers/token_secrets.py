"""Fills Secrets of the type kubernetes.io/service-account-token, and deletes them with their service account."""

from __future__ import annotations

from base64 import b64encode

from gateway.access.tokens import signer_of
from gateway.controllers.keyed_controller import KeyedController
from gateway.controllers.service_accounts import RootCertificates
from gateway.jsontypes import JsonObject
from gateway.kinds.strategies.secrets import ACCOUNT, TOKEN
from gateway.writing.options import DeleteOptions
from storage.entry import Entry

ISSUER = "kubernetes/serviceaccount"
ACCOUNT_UID = "kubernetes.io/service-account.uid"
_TYPE = f'"{TOKEN}"'.encode()


class TokenSecrets(KeyedController):
    """The controller. Its queue has keys of Secrets."""

    queue_name = "serviceaccount_tokens_secret"
    resources = ("secrets", "serviceaccounts")

    def on_update(self, resource: str, entry: Entry) -> None:
        if resource == "secrets":
            if _TYPE in entry.tail:
                self.queue.add(entry.key)
        else:
            self.on_delete(resource, entry)

    def on_delete(self, resource: str, entry: Entry) -> None:
        if resource == "serviceaccounts":
            for secret in self.entries("secrets", self.place(resource, entry.key)[0]):
                if _TYPE in secret.tail:
                    self.queue.add(secret.key)

    async def reconcile(self, key: bytes) -> None:
        secret = self.cached(key)
        if secret is None or secret.get("type") != TOKEN:
            return
        meta = secret["metadata"]
        annotations = meta.get("annotations") or {}
        account = await self.live(self.key("serviceaccounts", meta["namespace"], annotations.get(ACCOUNT, "")))
        secrets = self.actor.of("", "v1", "secrets")
        if account is None or annotations.get(ACCOUNT_UID, account["metadata"]["uid"]) != account["metadata"]["uid"]:
            await self.delete(secrets, secret, DeleteOptions())
            return
        wanted = self._wanted(secret, account)
        if wanted != secret.get("data") or ACCOUNT_UID not in annotations:

            def fill(obj: JsonObject) -> bool:
                obj["data"] = {**(obj.get("data") or {}), **wanted}
                obj["metadata"].setdefault("annotations", {})[ACCOUNT_UID] = account["metadata"]["uid"]
                return True

            await self.actor.change(secrets, meta["namespace"], meta["name"], fill, uid=meta["uid"])

    def _wanted(self, secret: JsonObject, account: JsonObject) -> dict[str, str]:
        """The data that the secret should have."""
        services, data = self.actor.endpoints.services, dict(secret.get("data") or {})
        namespace = secret["metadata"]["namespace"]
        certificates = RootCertificates(self.actor).data
        if certificates:
            data["ca.crt"] = _encoded(certificates["ca.crt"])
        data["namespace"] = _encoded(namespace)
        if not data.get("token"):
            name = account["metadata"]["name"]
            claims = {
                "iss": ISSUER,
                "kubernetes.io/serviceaccount/namespace": namespace,
                "kubernetes.io/serviceaccount/secret.name": secret["metadata"]["name"],
                "kubernetes.io/serviceaccount/service-account.name": name,
                "kubernetes.io/serviceaccount/service-account.uid": account["metadata"]["uid"],
                "sub": f"system:serviceaccount:{namespace}:{name}",
            }
            data["token"] = _encoded(signer_of(services.settings).sign(claims))
        return data


def _encoded(text: str) -> str:
    return b64encode(text.encode()).decode()
