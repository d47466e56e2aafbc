"""Which tokens of service accounts a kubelet gets: those bound to a pod on its node, for the audiences that the pod or
the drivers of its volumes ask for.
"""

from __future__ import annotations

from gateway.access.authorization import Authorizer, asked_of_resource
from gateway.access.rbac.policy import aggregated
from gateway.admission.record import Admission
from gateway.admission.refusal import refused
from gateway.http.status import StatusError, not_found
from gateway.jsontypes import JsonObject
from gateway.kinds.identity import GroupVersionResource, core
from gateway.kinds.objects import Objects
from gateway.release.gates import Enabled
from gateway.validation.field import go_quote

_VERB = "request-serviceaccounts-token-audience"
_CSI_DRIVERS = GroupVersionResource("storage.k8s.io", "v1", "csidrivers")
# the CSI drivers that have replaced in-tree volume plug-ins
_DRIVERS = {
    "awsElasticBlockStore": "ebs.csi.aws.com",
    "azureDisk": "disk.csi.azure.com",
    "azureFile": "file.csi.azure.com",
    "cinder": "cinder.csi.openstack.org",
    "gcePersistentDisk": "pd.csi.storage.gke.io",
    "portworxVolume": "pxd.portworx.com",
    "vsphereVolume": "csi.vsphere.vmware.com",
}


class Audiences:
    """Checks the TokenRequests of nodes."""

    def __init__(self, objects: Objects, authorizer: Authorizer, enabled: Enabled) -> None:
        self._objects, self._authorizer, self._enabled = objects, authorizer, enabled

    async def check(self, node: str, admission: Admission) -> None:
        """Raises StatusError 403 for a token that the node may not have, 404 where its pod does not exist."""
        asked = (admission.obj or {}).get("spec") or {}
        ref = asked.get("boundObjectRef") or {}
        if (ref.get("apiVersion"), ref.get("kind")) != ("v1", "Pod") or not ref.get("name"):
            raise _no(admission, "node requested token not bound to a pod")
        uid = ref.get("uid", "")
        if not uid:
            raise _no(admission, "node requested token with a pod binding without a uid")
        pod = await self._objects.get(core("pods"), admission.namespace, ref["name"])
        if pod is None:
            raise not_found("", "pod", ref["name"])
        if uid != pod["metadata"].get("uid"):
            recreated = "The object might have been deleted and then recreated"
            text = f"the UID in the bound object reference ({uid}) does not match the UID in record. {recreated}"
            raise _no(admission, text)
        if (pod.get("spec") or {}).get("nodeName") != node:
            raise _no(admission, "node requested token bound to a pod scheduled on a different node")
        if self._enabled("ServiceAccountNodeAudienceRestriction"):
            await self._check_audience(admission, asked.get("audiences") or [], pod)

    async def _check_audience(self, admission: Admission, audiences: list[str], pod: JsonObject) -> None:
        if len(audiences) > 1:
            raise _no(admission, "node may only request 0 or 1 audiences")
        audience, user = audiences[0] if audiences else "", admission.user
        try:
            if await self._is_referenced(pod, audience):
                return
        except _Absent as error:
            raise _no(admission, f"error validating audience {go_quote(audience)}: {error}") from None
        question = asked_of_resource(user, _VERB, "", audience, admission.name, namespace=admission.namespace)
        verdict = await self._authorizer.authorize(question)
        if verdict.allowed:
            return
        shown = go_quote(audience)
        if not self._enabled("NodeWritesNarrowed"):
            why = f"{user.name} is not authorized to request tokens for this audience"
            raise _no(admission, f"audience {shown} not found in pod spec volume, {why}")
        if verdict.error:
            why = f"error authorizing {user.name} to request tokens for audience {shown}"
            raise _no(admission, f"{why}: {verdict.error}")
        raise _no(admission, f"{user.name} is not authorized to request tokens for audience {shown}")

    async def _is_referenced(self, pod: JsonObject, audience: str) -> bool:
        """Whether a volume of the pod asks for the audience. Raises _Absent if none does and an object that a volume
        names does not exist.
        """
        absent: dict[str, None] = {}
        for volume in (pod.get("spec") or {}).get("volumes") or ():
            for source in (volume.get("projected") or {}).get("sources") or ():
                token = source.get("serviceAccountToken")
                if token is not None and token.get("audience", "") == audience:
                    return True
            try:
                driver = await self._driver(pod, volume)
                found = await self._present("csidriver", _CSI_DRIVERS, "", driver) if driver else {}
            except _Absent as error:
                absent[str(error)] = None
                continue
            requests = (found.get("spec") or {}).get("tokenRequests") or ()
            if any(each.get("audience", "") == audience for each in requests):
                return True
        if absent:
            raise _Absent(aggregated(list(absent)))
        return False

    async def _driver(self, pod: JsonObject, volume: JsonObject) -> str:
        meta = pod["metadata"]
        if volume.get("ephemeral"):
            return await self._driver_of_claim(meta["namespace"], f"{meta['name']}-{volume.get('name', '')}")
        if volume.get("persistentVolumeClaim"):
            return await self._driver_of_claim(meta["namespace"], volume["persistentVolumeClaim"].get("claimName", ""))
        return _driver_in(volume)

    async def _driver_of_claim(self, namespace: str, name: str) -> str:
        claim = await self._present("persistentvolumeclaim", core("persistentvolumeclaims"), namespace, name)
        bound = (claim.get("spec") or {}).get("volumeName", "")
        volume = await self._present("persistentvolume", core("persistentvolumes"), "", bound)
        return _driver_in(volume.get("spec") or {})

    async def _present(self, kind: str, gvr: GroupVersionResource, namespace: str, name: str) -> JsonObject:
        """The object of that name. Raises _Absent with kube-apiserver's message, which has the kind, lower case."""
        found = await self._objects.get(gvr, namespace, name) if name else None
        if found is None:
            raise _Absent(not_found(gvr.group, kind, name).message)
        return found


class _Absent(Exception):
    """An object does not exist; the message says which."""


def _driver_in(source: JsonObject) -> str:
    if source.get("csi"):
        return str(source["csi"].get("driver", ""))
    return next((driver for member, driver in _DRIVERS.items() if source.get(member) is not None), "")


def _no(admission: Admission, reason: str) -> StatusError:
    return refused(admission, None, reason)
