"""Relaxed rules for an update of a pod or pod template.

An update must not fail for a value that an older server accepted. So a rule that the stored object breaks is relaxed.
"""

from __future__ import annotations

from collections.abc import Iterator

from gateway.jsontypes import JsonObject
from gateway.release.gates import Enabled
from gateway.validation.labels import validate_label_selector
from gateway.validation.local_paths import validate_local_non_reserved_path
from gateway.validation.names import is_label_value
from gateway.validation.pod_annotations import deletion_cost_is_valid
from gateway.validation.pod_options import PodOptions, containers_of
from gateway.validation.resource_names import is_huge_page
from gateway.validation.resource_requirements import is_divisible_huge_page
from gateway.validation.scheduling import validate_label_keys
from gateway.validation.security_context import breaks_host_sysctl_rule


def options_for_update(
    old_spec: JsonObject, old_annotations: dict[str, str] | None, is_pod: bool, enabled: Enabled
) -> PodOptions:
    """The options for an update of an object with this stored pod spec and these annotations, in a release with these
    gates and changes.
    """
    revised = enabled("PodRulesRevised")
    security = old_spec.get("securityContext") or {}
    user_namespaces = old_spec.get("hostUsers") is False
    return PodOptions(
        is_pod=is_pod,
        revised=revised,
        any_deletion_cost=not deletion_cost_is_valid(old_annotations or {}),
        any_selector_values=_has_invalid_affinity_selector(old_spec),
        any_node_affinity_values=_has_invalid_node_affinity_value(old_spec),
        any_spread_selector=_has_invalid_spread_selector(old_spec),
        any_spread_label_keys=_has_repeated_spread_key(old_spec),
        indivisible_huge_pages=_has_indivisible_huge_pages(old_spec),
        any_token_path=_has_non_local_token_path(old_spec),
        host_sysctls=bool(security.get("sysctls")) and breaks_host_sysctl_rule(security, old_spec),
        selinux_mount_option="seLinuxChangePolicy" in security or enabled("SELinuxMount"),
        restart_for_init_resize=_has_restarting_init_container(old_spec),
        devices_with_user_namespaces=user_namespaces and any(c.get("volumeDevices") for c in containers_of(old_spec)),
        host_network_with_user_namespaces=user_namespaces and bool(old_spec.get("hostNetwork")),
        comparing_tolerations=any(t.get("operator") in ("Lt", "Gt") for t in old_spec.get("tolerations") or ()),
        empty_image_reference=_has_empty_image_reference(old_spec) if revised else not is_pod,
        restart_all_containers=enabled("RestartAllContainersOnContainerExits") or _restarts_all_containers(old_spec),
        administering_without_escalation=revised and _administers_without_escalation(old_spec),
    )


def _affinity_terms(spec: JsonObject) -> Iterator[JsonObject]:
    affinity = spec.get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(kind) or {}
        yield from terms.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        for weighted in terms.get("preferredDuringSchedulingIgnoredDuringExecution") or ():
            yield weighted.get("podAffinityTerm") or {}


def _has_invalid_affinity_selector(spec: JsonObject) -> bool:
    return any(
        validate_label_selector(term.get(key), "")
        for term in _affinity_terms(spec)
        for key in ("labelSelector", "namespaceSelector")
    )


def _has_invalid_node_affinity_value(spec: JsonObject) -> bool:
    node_affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    selector = node_affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    return any(
        is_label_value(value)
        for term in selector.get("nodeSelectorTerms") or ()
        for requirement in term.get("matchExpressions") or ()
        for value in requirement.get("values") or ()
    )


def _has_invalid_spread_selector(spec: JsonObject) -> bool:
    return any(
        validate_label_selector(constraint.get("labelSelector"), "")
        for constraint in spec.get("topologySpreadConstraints") or ()
    )


def _has_repeated_spread_key(spec: JsonObject) -> bool:
    errors: list[object] = []
    for constraint in spec.get("topologySpreadConstraints") or ():
        errors += validate_label_keys(constraint, "")
    return bool(errors)


def _has_indivisible_huge_pages(spec: JsonObject) -> bool:
    lists = [spec.get("overhead") or {}]
    for container in containers_of(spec):
        resources = container.get("resources") or {}
        lists += [resources.get("limits") or {}, resources.get("requests") or {}]
    return any(
        is_huge_page(k) and not is_divisible_huge_page(k, v) for quantities in lists for k, v in quantities.items()
    )


def _has_non_local_token_path(spec: JsonObject) -> bool:
    for volume in spec.get("volumes") or ():
        for source in (volume.get("projected") or {}).get("sources") or ():
            token = source.get("serviceAccountToken")
            if token is not None and validate_local_non_reserved_path(token.get("path", ""), ""):
                return True
    return False


def _has_restarting_init_container(spec: JsonObject) -> bool:
    return any(
        policy.get("restartPolicy") == "RestartContainer"
        for container in spec.get("initContainers") or ()
        if container.get("restartPolicy") != "Always"
        for policy in container.get("resizePolicy") or ()
    )


def _restarts_all_containers(spec: JsonObject) -> bool:
    rules = (rule for container in containers_of(spec) for rule in container.get("restartPolicyRules") or ())
    return any(rule.get("action") == "RestartAllContainers" for rule in rules)


def _has_empty_image_reference(spec: JsonObject) -> bool:
    return any("image" in volume and not volume["image"].get("reference") for volume in spec.get("volumes") or ())


def _administers_without_escalation(spec: JsonObject) -> bool:
    contexts = [container.get("securityContext") or {} for container in containers_of(spec)]
    return any(
        not context.get("allowPrivilegeEscalation")
        and "CAP_SYS_ADMIN" in ((context.get("capabilities") or {}).get("add") or ())
        for context in contexts
    )
