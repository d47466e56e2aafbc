"""Defines a check: one rule of the Pod Security Standards, in the form of each version of Kubernetes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any

from gateway.admission.podsecurity.levels import Level
from gateway.jsontypes import JsonObject

PROFILES = "security."
"""A part of the key of each annotation that a check reads."""


@dataclass(frozen=True, slots=True)
class Violation:
    """Why a check refuses a pod. Messages about many pods have the reason alone, those about one pod the detail too."""

    reason: str
    detail: str

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})" if self.detail else self.reason


class PodUnderCheck:
    """A pod or pod template, and the parts of it that checks read."""

    __slots__ = ("annotations", "containers", "context", "spec")

    def __init__(self, metadata: JsonObject, spec: JsonObject) -> None:
        self.annotations: dict[str, str] = metadata.get("annotations") or {}
        self.spec = spec
        self.context: JsonObject = spec.get("securityContext") or {}
        self.containers: list[tuple[str, JsonObject, JsonObject]] = [  # name, securityContext, the container
            (container.get("name", ""), container.get("securityContext") or {}, container)
            for key in ("initContainers", "containers", "ephemeralContainers")
            for container in spec.get(key) or ()
        ]

    @property
    def parts(self) -> int:
        """The number of containers, volumes and annotations, by which the time for all checks grows."""
        return len(self.containers) + len(self.spec.get("volumes") or ()) + len(self.annotations)

    @property
    def on_windows(self) -> bool:
        """Whether the pod says that it is for Windows."""
        return (self.spec.get("os") or {}).get("name") == "windows"

    @property
    def in_user_namespace(self) -> bool:
        """Whether the pod has a user namespace of its own."""
        return self.spec.get("hostUsers") is False


CheckPod = Callable[[PodUnderCheck], Violation | None]


@dataclass(frozen=True, slots=True)
class Revision:
    """A check as it is from one minor version of Kubernetes until its next revision.

    `overrides` names checks of baseline that this one replaces.
    """

    since: int
    violation: CheckPod
    overrides: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Check:
    """A check, by its name in k8s.io/pod-security-admission; revisions in the order of versions."""

    name: str
    level: Level
    revisions: tuple[Revision, ...]


def unless_windows(check: CheckPod) -> CheckPod:
    """A check that skips pods for Windows."""
    return lambda pod: None if pod.on_windows else check(pod)


def unless_in_user_namespace(check: CheckPod) -> CheckPod:
    """A check that skips pods with a user namespace of their own, whose root is not that of the host."""
    return lambda pod: None if pod.in_user_namespace else check(pod)


def quoted(texts: Iterable[str]) -> str:
    """The texts between double quotes, separated by commas."""
    return '"' + '", "'.join(texts) + '"'


def plural(noun: str, things: Collection[Any]) -> str:
    """The noun, with an s unless it is one thing."""
    return noun if len(things) == 1 else f"{noun}s"


def of_containers(names: Collection[str]) -> str:
    """The containers of these names, as in messages: `containers "a", "b"`."""
    return f"{plural('container', names)} {quoted(names)}"


def setters(pod: bool, names: Collection[str]) -> str:
    """The subject of a message: the pod itself, containers, or both."""
    return " and ".join(["pod"] * pod + ([of_containers(names)] if names else []))
