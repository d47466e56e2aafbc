"""Options for the validation of pods and pod templates, and iterators over containers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from gateway.jsontypes import JsonObject
from gateway.release.gates import Enabled


@dataclass(slots=True)
class PodOptions:
    """Relaxations of rules, which updates may have. The defaults are the rules of a create."""

    known_as: str = ""  # the rule of known_templates.py that a template meets without errors; "" for updates
    is_pod: bool = False  # a pod, not a template of one
    revised: bool = False  # by the rules of the change PodRulesRevised
    any_deletion_cost: bool = False
    any_selector_values: bool = False  # in pod (anti-)affinity
    any_node_affinity_values: bool = False
    any_spread_selector: bool = False
    any_spread_label_keys: bool = False
    indivisible_huge_pages: bool = False
    any_token_path: bool = False
    host_sysctls: bool = False
    selinux_mount_option: bool = False
    restart_for_init_resize: bool = False
    devices_with_user_namespaces: bool = False
    host_network_with_user_namespaces: bool = False
    comparing_tolerations: bool = False
    empty_image_reference: bool = False
    administering_without_escalation: bool = False
    restart_all_containers: bool = True  # as action of a restart rule


def options_of_create(is_pod: bool, enabled: Enabled) -> PodOptions:
    """The options of a new pod or template in a release with these gates and changes."""
    restarts = enabled("RestartAllContainersOnContainerExits")
    return _of_create(is_pod, enabled("PodRulesRevised"), enabled("SELinuxMount"), restarts)


@cache
def _of_create(is_pod: bool, revised: bool, selinux_mount_option: bool, restart_all_containers: bool) -> PodOptions:
    return PodOptions(
        known_as="" if is_pod else f"create {revised} {selinux_mount_option} {restart_all_containers}",
        is_pod=is_pod,
        revised=revised,
        selinux_mount_option=selinux_mount_option,
        empty_image_reference=not is_pod and not revised,
        restart_all_containers=restart_all_containers,
    )


def containers_of(spec: JsonObject) -> Iterator[JsonObject]:
    """All containers: init, ordinary, ephemeral."""
    for key in ("initContainers", "containers", "ephemeralContainers"):
        yield from spec.get(key) or ()


def containers_with_path(spec: JsonObject, path: str) -> Iterator[tuple[JsonObject, str]]:
    for key in ("initContainers", "containers", "ephemeralContainers"):
        for i, container in enumerate(spec.get(key) or ()):
            yield container, f"{path}.{key}[{i}]"
