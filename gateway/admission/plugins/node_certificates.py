"""Which certificates a kubelet may request: for pods on its node, from the signers that the pods name (KEP-4317)."""

from __future__ import annotations

from gateway.access.authorization import Authorizer, asked_of_resource
from gateway.access.nodes.references import MIRROR
from gateway.admission.record import Admission
from gateway.admission.refusal import refused
from gateway.http.status import StatusError, not_found
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Operation
from gateway.kinds.identity import core
from gateway.kinds.objects import Objects
from gateway.validation.field import go_quote

_VERB = "request-serviceaccounts-podcertificate-signer"
_REQUEST = "named in the PodCertificateRequest"


class NodeCertificates:
    """Checks the PodCertificateRequests of nodes."""

    def __init__(self, objects: Objects, authorizer: Authorizer) -> None:
        self._objects, self._authorizer = objects, authorizer

    async def check(self, node: str, admission: Admission) -> None:
        """Raises StatusError 403 for a certificate that the node may not have, 500 where its pod is not known yet."""
        if admission.operation is not Operation.CREATE:
            raise _no(admission, f"unexpected operation {admission.operation.value}")
        if admission.subresource:
            raise _no(admission, f"unexpected subresource {admission.subresource}")
        spec = (admission.obj or {}).get("spec") or {}
        name = spec.get("nodeName", "")
        if name != node:
            shown = f"PodCertificateRequest.Spec.NodeName={go_quote(name)}"
            raise _no(admission, f"{shown}, which is not the requesting node {go_quote(node)}")
        pod_name = go_quote(f"{admission.namespace}/{spec.get('podName', '')}")
        pod = await self._of_node(admission, spec, pod_name)
        if (pod.get("spec") or {}).get("nodeName", "") != name:
            raise _no(admission, f"pod {pod_name} is not running on node {go_quote(name)} {_REQUEST}")
        if MIRROR in (pod["metadata"].get("annotations") or {}):
            raise _no(admission, f"pod {pod_name} is a mirror pod")
        await self._check_account(admission, spec, pod, pod_name)
        await self._check_signer(admission, spec, pod, pod_name)

    async def _of_node(self, admission: Admission, spec: JsonObject, pod_name: str) -> JsonObject:
        """The pod of the request. Raises StatusError 500 unless the request has the current uids of node and pod."""
        uid = await self._uid(admission, "nodes", "", "node", spec.get("nodeName", ""))
        if uid != spec.get("nodeUID", ""):
            given = go_quote(spec.get("nodeUID", ""))
            raise _later(
                f"PodCertificateRequest for pod {pod_name} names node UID {given}, inconsistent with the running node "
                f"({go_quote(uid)})"
            )
        pod = await self._objects.get(core("pods"), admission.namespace, spec.get("podName", ""))
        if pod is None:
            missing = not_found("", "pod", spec.get("podName", "")).message
            raise _later(f"while retrieving pod {pod_name} {_REQUEST}: {missing}")
        if (uid := pod["metadata"].get("uid", "")) != spec.get("podUID", ""):
            given = go_quote(spec.get("podUID", ""))
            raise _later(
                f"PodCertificateRequest for pod {pod_name} contains pod UID ({given}) which differs from running pod "
                f"{go_quote(uid)}"
            )
        return pod

    async def _check_account(self, admission: Admission, spec: JsonObject, pod: JsonObject, pod_name: str) -> None:
        asked, actual = spec.get("serviceAccountName", ""), (pod.get("spec") or {}).get("serviceAccountName", "")
        if asked != actual:
            which = f"serviceAccountName ({go_quote(asked)}) that differs from running pod ({go_quote(actual)})"
            raise _no(admission, f"PodCertificateRequest for pod {pod_name} contains {which}")
        uid = await self._uid(admission, "serviceaccounts", admission.namespace, "service account", asked)
        if uid != spec.get("serviceAccountUID", ""):
            given = go_quote(spec.get("serviceAccountUID", ""))
            which = f"service account UID {given}, which differs from the running service account ({go_quote(uid)})"
            raise _later(f"PodCertificateRequest for pod {pod_name} names {which}")

    async def _check_signer(self, admission: Admission, spec: JsonObject, pod: JsonObject, pod_name: str) -> None:
        """Raises StatusError 403 unless the pod mounts a certificate of the signer, or the authorizer allows the
        request to the node.
        """
        signer = spec.get("signerName", "")
        for volume in (pod.get("spec") or {}).get("volumes") or ():
            for source in (volume.get("projected") or {}).get("sources") or ():
                if (source.get("podCertificate") or {}).get("signerName") == signer:
                    return
        question = asked_of_resource(
            admission.user,
            _VERB,
            admission.resource.group,
            signer.replace("/", ":"),
            spec.get("serviceAccountName", ""),
            namespace=admission.namespace,
        )
        verdict = await self._authorizer.authorize(question)
        if verdict.allowed:
            return
        if verdict.error:
            asks = f"error authorizing {admission.user.name} to request podcertificaterequests"
            raise _no(admission, f"{asks} for signer {go_quote(signer)}: {verdict.error}")
        mounts = f"does not mount a podCertificate projected volume for signer {go_quote(signer)}"
        raise _no(admission, f"pod {pod_name} {mounts}")

    async def _uid(self, admission: Admission, plural: str, namespace: str, what: str, name: str) -> str:
        found = await self._objects.get(core(plural), namespace, name)
        if found is None:
            shown = go_quote(f"{namespace}/{name}" if namespace else name)
            missing = not_found("", plural.removesuffix("s"), name).message
            raise _later(f"while retrieving {what} {shown} {_REQUEST}: {missing}")
        return str(found["metadata"].get("uid", ""))


def _no(admission: Admission, reason: str) -> StatusError:
    return refused(admission, admission.obj, reason)


def _later(message: str) -> StatusError:
    """A 500 for a state that may be different in a moment: the client tries again."""
    return StatusError(500, "", message)
