"""Options for the validation of pods and pod templates, and iterators over containers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gateway.jsontypes import JsonObject


@dataclass(slots=True)
class PodOptions:
    """Relaxations of rules, which updates may have. The defaults are the rules of a create."""

    is_pod: bool = False  # a pod, not a template of one
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


CREATE_POD = PodOptions(is_pod=True)
CREATE_TEMPLATE = PodOptions()


def containers_of(spec: JsonObject) -> Iterator[JsonObject]:
    """All containers: init, ordinary, ephemeral."""
    for key in ("initContainers", "containers", "ephemeralContainers"):
        yield from spec.get(key) or ()


def containers_with_path(spec: JsonObject, path: str) -> Iterator[tuple[JsonObject, str]]:
    for key in ("initContainers", "containers", "ephemeralContainers"):
        for i, container in enumerate(spec.get(key) or ()):
            yield container, f"{path}.{key}[{i}]"
