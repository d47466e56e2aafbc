"""The checks of the Pod Security Standards, each a module with a `CHECK`."""

from __future__ import annotations

from gateway.admission.podsecurity.check import Check
from gateway.admission.podsecurity.checks import (
    allow_privilege_escalation,
    app_armor_profile,
    capabilities_baseline,
    capabilities_restricted,
    host_namespaces,
    host_path_volumes,
    host_ports,
    host_probes_and_host_lifecycle,
    privileged,
    proc_mount,
    proc_mount_restricted,
    restricted_volumes,
    run_as_non_root,
    run_as_user,
    se_linux_options,
    seccomp_profile_baseline,
    seccomp_profile_restricted,
    sysctls,
    windows_host_process,
)

CHECKS: tuple[Check, ...] = (
    allow_privilege_escalation.CHECK,
    app_armor_profile.CHECK,
    capabilities_baseline.CHECK,
    capabilities_restricted.CHECK,
    host_namespaces.CHECK,
    host_path_volumes.CHECK,
    host_ports.CHECK,
    host_probes_and_host_lifecycle.CHECK,
    privileged.CHECK,
    proc_mount.CHECK,
    proc_mount_restricted.CHECK,
    restricted_volumes.CHECK,
    run_as_non_root.CHECK,
    run_as_user.CHECK,
    se_linux_options.CHECK,
    seccomp_profile_baseline.CHECK,
    seccomp_profile_restricted.CHECK,
    sysctls.CHECK,
    windows_host_process.CHECK,
)
