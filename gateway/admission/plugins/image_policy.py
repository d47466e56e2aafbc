"""ImagePolicyWebhook: a service is asked whether a pod's images may run (page "Admission Control in Kubernetes")."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gateway.admission.chain import Plugin, PluginParts, PluginReviews, on
from gateway.admission.configuration import Document, InvalidConfiguration, Leaf, checked
from gateway.admission.record import Admission
from gateway.admission.refusal import refused
from gateway.jsontypes import JsonObject, dumps
from gateway.kinds.attributes import Operation
from gateway.memo import Recent, memory_of

if TYPE_CHECKING:
    from gateway.access.remote import Remote

NAME = "ImagePolicyWebhook"
_API_VERSION = "imagepolicy.k8s.io/v1alpha1"
_AUDIT_PREFIX = "imagepolicywebhook.image-policy.k8s.io/"
_ANNOTATION = ".image-policy.k8s.io/"
_FAILED_OPEN = "alpha.image-policy.k8s.io/failed-open"
_REMEMBERED, _SIZE = 1024, 8 << 20  # answers, and their bytes with those of the reviews' specs
_SHAPE = {
    "imagePolicy": {
        "kubeConfigFile": Leaf.TEXT,
        "allowTTL": Leaf.INTEGER,
        "denyTTL": Leaf.INTEGER,
        "retryBackoff": Leaf.INTEGER,
        "defaultAllow": Leaf.BOOLEAN,
    }
}
_NEVER, _DEFAULT = -1, 0  # special numbers: no time at all, and the default


@dataclass(frozen=True, slots=True)
class _Duration:
    """A duration in the configuration: its unit, bounds and default in seconds. The default holds for 0."""

    about: str
    unit: float
    least: float
    most: float
    default: float

    def seconds(self, value: int) -> float:
        """Raises InvalidConfiguration."""
        if value == _NEVER:
            return 0.0
        if value == _DEFAULT:
            return self.default
        if not self.least <= (found := value * self.unit) <= self.most:
            raise InvalidConfiguration(
                f"imagePolicy.{self.about}: valid value is between {self.least:g}s and {self.most:g}s, got {found:g}s"
            )
        return found


_ALLOW_TTL = _Duration("allowTTL", 1, 1, 1800, 300)
_DENY_TTL = _Duration("denyTTL", 1, 1, 1800, 30)
_BACKOFF = _Duration("retryBackoff", 0.001, 1e-9, 300, 0.5)


class ImagePolicy:
    """The service, and its recent answers."""

    def __init__(self, remote: Remote, allow_ttl: float, deny_ttl: float, default_allow: bool) -> None:
        """Answers are kept for `allow_ttl` or `deny_ttl` seconds; `default_allow` decides if there is no answer."""
        self._remote, self._ttl, self._default_allow = remote, {True: allow_ttl, False: deny_ttl}, default_allow
        self._answers: Recent[bytes, tuple[float, JsonObject]] = Recent(_REMEMBERED, _SIZE)

    async def validate(self, admission: Admission) -> None:
        """Raises StatusError 403 if the service denies an image."""
        pod = admission.obj
        assert pod is not None
        from gateway.access.remote import RemoteError

        try:
            status = await self._status(_specification(admission, pod))
        except RemoteError as error:
            if not self._default_allow:
                raise refused(admission, pod, str(error)) from None
            admission.annotate(f"{_AUDIT_PREFIX}failed-open", "true")
            pod["metadata"].setdefault("annotations", {})[_FAILED_OPEN] = "true"
            return
        for key, value in (status.get("auditAnnotations") or {}).items():
            admission.annotate(_AUDIT_PREFIX + key, value)
        if status.get("allowed") is not True:
            reason = status.get("reason") or ""
            denied = f"image policy webhook backend denied one or more images: {reason}"
            raise refused(admission, pod, denied if reason else "one or more images rejected by webhook backend")

    async def _status(self, specification: JsonObject) -> JsonObject:
        """The status of a review. Raises RemoteError."""
        from gateway.access.remote import RemoteError

        key, now = dumps(specification), time.monotonic()
        until, status = self._answers.find(key) or (0.0, {})
        if now < until:
            return status
        review = {
            "kind": "ImageReview",
            "apiVersion": _API_VERSION,
            "metadata": {},
            "spec": specification,
            "status": {"allowed": False},
        }
        answer: Any = (await self._remote.ask(review)).get("status") or {}
        if not _is_status(answer):
            raise RemoteError("the answer is not an ImageReview")
        found: JsonObject = answer
        ttl = self._ttl[found.get("allowed") is True]
        if ttl:
            self._answers.keep(key, (now + ttl, found), len(key) + memory_of(found))
        return found


def _is_status(answer: Any) -> bool:
    """Whether an answer has the types of an ImageReviewStatus: "allowed": "false" allows nothing."""
    if not isinstance(answer, dict):
        return False
    annotations = answer.get("auditAnnotations")
    if not isinstance(annotations, dict | None) or not all(
        isinstance(each, str) for each in (annotations or {}).values()
    ):
        return False
    return isinstance(answer.get("allowed"), bool | None) and isinstance(answer.get("reason"), str | None)


def _specification(admission: Admission, pod: JsonObject) -> JsonObject:
    """The spec of the ImageReview: the images that kube-apiserver would ask about, annotations and namespace."""
    spec = pod.get("spec") or {}
    lists = ("ephemeralContainers",) if admission.subresource else ("containers", "initContainers")
    images = [{"image": container.get("image", "")} for key in lists for container in spec.get(key) or ()]
    annotations = pod["metadata"].get("annotations") or {}
    chosen = {key: value for key, value in sorted(annotations.items()) if _ANNOTATION in key}
    found: JsonObject = {"containers": images}
    if chosen:
        found["annotations"] = chosen
    return {**found, "namespace": admission.namespace}


def configure(document: Document) -> ImagePolicy:
    """The service that `imagePolicy` names. Raises InvalidConfiguration."""
    from gateway.access.remote import Remote, read_place  # imported late: a start without this plug-in does not need it

    if document is None:
        raise InvalidConfiguration("it needs a configuration: --admission-control-config-file gives one")
    given = checked(document, _SHAPE).get("imagePolicy") or {}
    path = Path(given.get("kubeConfigFile", ""))
    backoff = _BACKOFF.seconds(given.get("retryBackoff", 0))
    allow, deny = _ALLOW_TTL.seconds(given.get("allowTTL", 0)), _DENY_TTL.seconds(given.get("denyTTL", 0))
    try:
        remote = Remote(read_place(path), first_pause=backoff)
    except OSError as error:
        raise InvalidConfiguration(f"imagePolicy.kubeConfigFile: {error.strerror}: {path}") from None
    return ImagePolicy(remote, allow, deny, given.get("defaultAllow", False))


def _make(parts: PluginParts) -> PluginReviews:
    policy = parts.configured[NAME]
    assert isinstance(policy, ImagePolicy)
    return PluginReviews(validate=policy.validate)


PLUGIN = Plugin(
    NAME,
    on("/pods", "/pods/ephemeralcontainers", operations=(Operation.CREATE, Operation.UPDATE)),
    _make,
    configure=configure,
)
