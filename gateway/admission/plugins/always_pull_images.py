"""AlwaysPullImages: each start of a pod pulls its images, so that the pod's credentials are checked each time."""

from __future__ import annotations

from collections.abc import Iterator

from gateway.admission.chain import Plugin, PluginReviews, on
from gateway.admission.record import Admission
from gateway.admission.refusal import joined, refused
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Operation
from gateway.validation.field import not_supported

_ALWAYS = "Always"
_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")


def _pulled(pod: JsonObject) -> Iterator[tuple[str, JsonObject, str]]:
    """Yields each pull policy of a pod: its path, the object that holds it, and the field's name in that object."""
    spec = pod.get("spec") or {}
    for key in _CONTAINERS:
        for index, container in enumerate(spec.get(key) or ()):
            yield f"spec.{key}[{index}].imagePullPolicy", container, "imagePullPolicy"
    for index, volume in enumerate(spec.get("volumes") or ()):
        if volume.get("image") is not None:
            yield f"spec.volumes[{index}].image.pullPolicy", volume["image"], "pullPolicy"


def _images(pod: JsonObject) -> set[str]:
    spec = pod.get("spec") or {}
    return {container.get("image", "") for key in _CONTAINERS for container in spec.get(key) or ()}


def _concerns(admission: Admission) -> bool:
    """Whether the pod is new, or the update adds images."""
    assert admission.obj is not None
    return admission.old is None or not _images(admission.obj) <= _images(admission.old)


async def _admit(admission: Admission) -> None:
    assert admission.obj is not None
    if _concerns(admission):
        for _, holder, member in _pulled(admission.obj):
            holder[member] = _ALWAYS


async def _validate(admission: Admission) -> None:
    assert admission.obj is not None
    if not _concerns(admission):
        return
    problems = [
        str(not_supported(path, holder.get(member, ""), [_ALWAYS]))
        for path, holder, member in _pulled(admission.obj)
        if holder.get(member) != _ALWAYS
    ]
    if problems:
        raise refused(admission, admission.obj, joined(problems))


PLUGIN = Plugin(
    "AlwaysPullImages",
    on("/pods", operations=(Operation.CREATE, Operation.UPDATE)),
    lambda parts: PluginReviews(_admit, _validate),
)
