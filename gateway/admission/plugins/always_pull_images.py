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


def _otherwise(pod: JsonObject) -> Iterator[tuple[str, str]]:
    """Yields each pull policy of a pod that is not Always: its path and its value."""
    spec = pod.get("spec") or {}
    for key in _CONTAINERS:
        for index, container in enumerate(spec.get(key) or ()):
            if (policy := container.get("imagePullPolicy", "")) != _ALWAYS:
                yield f"spec.{key}[{index}].imagePullPolicy", policy
    for index, volume in enumerate(spec.get("volumes") or ()):
        image = volume.get("image")
        if image is not None and (policy := image.get("pullPolicy", "")) != _ALWAYS:
            yield f"spec.volumes[{index}].image.pullPolicy", policy


def _images(pod: JsonObject) -> set[str]:
    spec = pod.get("spec") or {}
    return {container.get("image", "") for key in _CONTAINERS for container in spec.get(key) or ()}


def _concerns(admission: Admission) -> bool:
    """Whether the pod is new, or the update adds images."""
    assert admission.obj is not None
    return admission.old is None or not _images(admission.obj) <= _images(admission.old)


async def _admit(admission: Admission) -> Admission | None:
    assert admission.obj is not None
    if not _concerns(admission) or not any(True for _ in _otherwise(admission.obj)):
        return None
    spec = admission.obj["spec"]
    lists = [key for key in _CONTAINERS if spec.get(key)]
    members = {key: [{**each, "imagePullPolicy": _ALWAYS} for each in spec[key]] for key in lists}
    if spec.get("volumes"):
        members["volumes"] = [_always_pulled(volume) for volume in spec["volumes"]]
    return admission.with_spec(**members)


def _always_pulled(volume: JsonObject) -> JsonObject:
    image = volume.get("image")
    return volume if image is None else {**volume, "image": {**image, "pullPolicy": _ALWAYS}}


async def _validate(admission: Admission) -> None:
    assert admission.obj is not None
    if not _concerns(admission):
        return
    problems = [str(not_supported(path, policy, [_ALWAYS])) for path, policy in _otherwise(admission.obj)]
    if problems:
        raise refused(admission, admission.obj, joined(problems))


PLUGIN = Plugin(
    "AlwaysPullImages",
    on("/pods", operations=(Operation.CREATE, Operation.UPDATE)),
    lambda parts: PluginReviews(_admit, _validate),
)
