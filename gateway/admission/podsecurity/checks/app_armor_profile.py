"""Baseline: the AppArmor profile is the runtime's default or one of the host; it may not be switched off."""

from __future__ import annotations

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

_ANNOTATION = "container.apparmor.security.beta.kubernetes.io/"
_ALLOWED = ("RuntimeDefault", "Localhost")


def _violation(pod: PodUnderCheck) -> Violation | None:
    values = {bad for context in (pod.context, *(each[1] for each in pod.containers)) for bad in _bad_types(context)}
    containers = [name for name, context, _ in pod.containers if _bad_types(context)]
    annotations = sorted(
        f"{key}={go_quote(value)}"
        for key, value in pod.annotations.items()
        if key.startswith(_ANNOTATION) and value and value != "runtime/default" and not value.startswith("localhost/")
    )
    if not values and not annotations:
        return None
    who = setters(bool(_bad_types(pod.context)), containers)
    if annotations:
        who += (" and " if who else "") + plural("annotation", annotations)
    bad = [*sorted(values), *annotations]
    detail = f"{who} must not set AppArmor profile type to {quoted(bad)}"
    return Violation(plural("forbidden AppArmor profile", bad), detail)


def _bad_types(context: JsonObject) -> tuple[str, ...]:
    profile = context.get("appArmorProfile")
    if profile is None or profile.get("type") in _ALLOWED:
        return ()
    return (profile.get("type", ""),)


CHECK = Check("appArmorProfile", Level.BASELINE, (Revision(0, _violation),))
