"""Baseline: the SELinux type is one of those for containers, user and role are not set."""

from __future__ import annotations

from functools import partial

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

_TYPES = frozenset({"", "container_t", "container_init_t", "container_kvm_t"})


def _violation(types: frozenset[str], pod: PodUnderCheck) -> Violation | None:
    whole = pod.context.get("seLinuxOptions")
    found = {name: context["seLinuxOptions"] for name, context, _ in pod.containers if "seLinuxOptions" in context}
    if whole is None and not found:
        return None
    of_pod = whole is not None and _bad(whole, types)
    of_containers = [name for name, options in found.items() if _bad(options, types)]
    if not of_pod and not of_containers:
        return None
    given = [options for options in (whole, *found.values()) if options]
    wrong = {options.get("type", "") for options in given} - types
    data = [f"{plural('type', wrong)} {quoted(sorted(wrong))}"] if wrong else []
    data += [f"{key} may not be set" for key in ("user", "role") if any(options.get(key) for options in given)]
    who = setters(of_pod, of_containers)
    return Violation("seLinuxOptions", f"{who} set forbidden securityContext.seLinuxOptions: {'; '.join(data)}")


def _bad(options: JsonObject, types: frozenset[str]) -> bool:
    return options.get("type", "") not in types or bool(options.get("user") or options.get("role"))


CHECK = Check(
    "seLinuxOptions",
    Level.BASELINE,
    (
        Revision(0, partial(_violation, _TYPES)),
        Revision(31, partial(_violation, _TYPES | {"container_engine_t"})),
    ),
)
