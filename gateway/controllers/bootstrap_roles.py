"""The default roles and bindings: creates missing ones, and adds missing rules and subjects (Kubernetes, "Using RBAC
Authorization", "Auto-reconciliation").

Objects with the annotation `rbac.authorization.kubernetes.io/autoupdate: "false"` are not changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy

from gateway.access.rbac import policy as rbac
from gateway.access.rbac.default_policy import default_policy
from gateway.access.rbac.rules import TooManyRights, compile_rules, uncovered
from gateway.controllers.bootstrap_objects import BootstrapObject
from gateway.jsontypes import JsonObject
from gateway.release.release import Release

AUTOUPDATE = "rbac.authorization.kubernetes.io/autoupdate"
_SELECTORS = "clusterRoleSelectors"


def default_roles(release: Release) -> Iterator[BootstrapObject]:
    """The default roles and bindings of a kube-apiserver of this release, roles first."""
    for kind, objects in default_policy(release.minor, release.binary).items():
        for content in objects:
            yield BootstrapObject(rbac.GROUP, "v1", kind, content)


def completed(present: JsonObject, wanted: JsonObject) -> JsonObject | None:
    """The present role or binding, completed by the default one; None if it is complete or not to be updated.

    A binding to another role is replaced by the default binding.
    """
    meta = present["metadata"]
    if (meta.get("annotations") or {}).get(AUTOUPDATE) == "false":
        return None
    made = deepcopy(present)
    for name in ("labels", "annotations"):
        lacking = (wanted["metadata"].get(name) or {}).items() - (meta.get(name) or {}).items()
        if lacking:
            made["metadata"][name] = (meta.get(name) or {}) | (wanted["metadata"].get(name) or {})
    if "roleRef" in wanted:
        if present["roleRef"] != wanted["roleRef"]:
            return {**wanted, "metadata": {**made["metadata"]}}
        _add(made, "subjects", wanted)
    elif wanted.get("aggregationRule"):
        rule = made.setdefault("aggregationRule", {})
        _add(rule, _SELECTORS, wanted["aggregationRule"])
    else:
        lacking_rules = _lacking(made.get("rules") or [], wanted.get("rules") or [])
        if lacking_rules:
            made["rules"] = [*(made.get("rules") or []), *lacking_rules]
    return None if made == present else made


def _add(obj: JsonObject, name: str, wanted: JsonObject) -> None:
    present = obj.get(name) or []
    lacking = [each for each in wanted.get(name) or [] if each not in present]
    if lacking:
        obj[name] = [*present, *lacking]


def _lacking(present: Sequence[JsonObject], wanted: Sequence[JsonObject]) -> list[JsonObject]:
    try:
        return uncovered(compile_rules(present), compile_rules(wanted))
    except TooManyRights:
        return [each for each in wanted if each not in present]
