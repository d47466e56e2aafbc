"""DefaultIngressClass: an Ingress that names no class gets the default one (page "Ingress")."""

from __future__ import annotations

from gateway.admission.chain import Plugin, looking_up, on
from gateway.admission.plugins.default_class import newest_default
from gateway.admission.record import Admission
from gateway.kinds.attributes import Operation
from gateway.kinds.identity import GroupVersionResource
from gateway.kinds.objects import Objects

_CLASSES = GroupVersionResource("networking.k8s.io", "v1", "ingressclasses")
_OLD_CHOICE = "kubernetes.io/ingress.class"
_DEFAULT = "ingressclass.kubernetes.io/is-default-class"


async def _admit(admission: Admission, objects: Objects) -> Admission | None:
    obj = admission.obj
    assert obj is not None
    spec = obj.get("spec") or {}
    annotations = obj["metadata"].get("annotations") or {}
    if spec.get("ingressClassName") is not None or _OLD_CHOICE in annotations:
        return None
    name = newest_default(objects.stored(_CLASSES), _DEFAULT)
    return admission.with_spec(ingressClassName=name) if name else None


PLUGIN = Plugin(
    "DefaultIngressClass", on("networking.k8s.io/ingresses", operations=(Operation.CREATE,)), looking_up(admit=_admit)
)
