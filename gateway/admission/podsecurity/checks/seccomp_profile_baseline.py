"""Baseline: the seccomp profile is not switched off. Before 1.19 annotations named it."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.admission.podsecurity.check import (
    Check,
    PodUnderCheck,
    Revision,
    Violation,
    plural,
    quoted,
    setters,
)
from gateway.admission.podsecurity.levels import Level
from gateway.jsontypes import JsonObject
from gateway.validation.field import go_quote

REASON = "seccompProfile"
_POD = "seccomp.security.alpha.kubernetes.io/pod"
_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
_TYPES = ("Localhost", "RuntimeDefault")


def _annotated(pod: PodUnderCheck) -> Violation | None:
    keys = [_POD, *(f"{_CONTAINER}{name}" for name, _, _ in pod.containers)]
    bad = {f"{key}={go_quote(pod.annotations[key])}" for key in keys if not _allowed(pod.annotations.get(key))}
    if not bad:
        return None
    return Violation(REASON, f"forbidden {plural('annotation', bad)} {', '.join(sorted(bad))}")


def _allowed(value: str | None) -> bool:
    return value is None or value in ("runtime/default", "docker/default") or value.startswith("localhost/")


def bad_profile(context: JsonObject) -> bool:
    """Whether a security context names a profile that is not allowed."""
    profile = context.get("seccompProfile")
    return profile is not None and profile.get("type") not in _TYPES


def explicit(pod: PodUnderCheck) -> Violation | None:
    """The violation of a pod that names a profile that is not allowed."""
    whole = bad_profile(pod.context)
    bad = [(name, context) for name, context, _ in pod.containers if bad_profile(context)]
    if not whole and not bad:
        return None
    contexts: Sequence[JsonObject] = [*([pod.context] if whole else []), *(context for _, context in bad)]
    types = quoted(sorted({context["seccompProfile"].get("type", "") for context in contexts}))
    who = setters(whole, [name for name, _ in bad])
    return Violation(REASON, f"{who} must not set securityContext.seccompProfile.type to {types}")


CHECK = Check("seccompProfile_baseline", Level.BASELINE, (Revision(0, _annotated), Revision(19, explicit)))
