"""Each Pod Security check with pods that it accepts and refuses, in the versions in which it changes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.admission.podsecurity.check import PodUnderCheck
from gateway.admission.podsecurity.checks import CHECKS
from gateway.admission.podsecurity.levels import Level, LevelVersion
from gateway.admission.podsecurity.registry import NEWEST, checks_of, violations

SAFE = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}
_OF_CONTAINERS = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}  # a pod can't set these
_LATEST = 99


def pod(context: Any = None, *, annotations: Any = None, of_pod: Any = None, **spec: Any) -> PodUnderCheck:
    """A pod that restricted takes, but for what is said of its container, of itself, and of its specification."""
    container = {"name": "c", "image": "i", "securityContext": {**SAFE, **(context or {})}}
    if "container" in spec:
        container |= spec.pop("container")
    found = {"containers": [container], **spec}
    if of_pod:
        found["securityContext"] = of_pod
    return PodUnderCheck({"annotations": annotations} if annotations else {}, found)


def said(level: Level, minor: int, subject: PodUnderCheck) -> str:
    return ", ".join(map(str, violations(LevelVersion(level, minor), subject)))


B, R = Level.BASELINE, Level.RESTRICTED
_C = 'container "c"'
REFUSED = [
    (B, 0, pod({"privileged": True}), f"privileged ({_C} must not set securityContext.privileged=true)"),
    (B, 0, pod(hostPID=True, hostIPC=True), "host namespaces (hostPID=true, hostIPC=true)"),
    (B, 0, pod(volumes=[{"name": "v", "hostPath": {}}]), 'hostPath volumes (volume "v")'),
    (
        B,
        0,
        pod(container={"ports": [{"hostPort": 9}, {"hostPort": 10}]}),
        f"hostPort ({_C} uses hostPorts 10, 9)",
    ),
    (
        B,
        0,
        pod({"capabilities": {"add": ["SYS_TIME", "CHOWN"]}}),
        f'non-default capabilities ({_C} must not include "SYS_TIME" in securityContext.capabilities.add)',
    ),
    (
        B,
        30,
        pod(of_pod={"seLinuxOptions": {"type": "container_engine_t", "user": "u"}}),
        "seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: "
        'type "container_engine_t"; user may not be set)',
    ),
    (
        B,
        18,
        pod(annotations={"container.seccomp.security.alpha.kubernetes.io/c": "unconfined"}),
        'seccompProfile (forbidden annotation container.seccomp.security.alpha.kubernetes.io/c="unconfined")',
    ),
    (
        B,
        19,
        pod({"seccompProfile": {"type": "Unconfined"}}, of_pod={"seccompProfile": {"type": "Unconfined"}}),
        f'seccompProfile (pod and {_C} must not set securityContext.seccompProfile.type to "Unconfined")',
    ),
    (B, 26, pod(of_pod={"sysctls": [{"name": "net.ipv4.ip_local_reserved_ports"}]}), "forbidden sysctls (net.ipv4.ip_"),
    (B, 36, pod(of_pod={"sysctls": [{"name": "net.ipv4.tcp_notsent_lowat"}]}), "forbidden sysctls (net.ipv4.tcp_n"),
    (B, 34, pod({"procMount": "Unmasked"}, hostUsers=False), f"procMount ({_C} must not set"),
    (
        B,
        0,
        pod(annotations={"container.apparmor.security.beta.kubernetes.io/c": "x"}),
        "forbidden AppArmor profile (annotation must not set AppArmor profile type to "
        '"container.apparmor.security.beta.kubernetes.io/c="x"")',
    ),
    (B, 0, pod(of_pod={"windowsOptions": {"hostProcess": True}}), "hostProcess (pod must not set"),
    (
        B,
        34,
        pod(container={"livenessProbe": {"httpGet": {"host": "h"}}}),
        f'probe or lifecycle host ({_C} uses probe or lifecycle host "h")',
    ),
    (R, 8, pod({"allowPrivilegeEscalation": True}), "allowPrivilegeEscalation != false ("),
    (R, 22, pod({"capabilities": {"drop": ["KILL"], "add": ["CHOWN"]}}), "unrestricted capabilities ("),
    (R, 0, pod(volumes=[{"name": "v", "nfs": {}}]), 'restricted volume types (volume "v" uses restricted volume type'),
    (
        R,
        0,
        pod({"runAsNonRoot": False}),
        f"runAsNonRoot != true ({_C} must not set securityContext.runAsNonRoot=false)",
    ),
    (R, 23, pod({"runAsUser": 0}), f"runAsUser=0 ({_C} must not set runAsUser=0)"),
    (R, 34, pod({"runAsUser": 0}, hostUsers=False), "runAsUser=0"),
    (R, 99, pod({"procMount": "Unmasked"}, hostUsers=False), "procMount ("),
]
TAKEN = [
    (B, 31, pod(of_pod={"seLinuxOptions": {"type": "container_engine_t"}})),
    (B, 19, pod(annotations={"container.seccomp.security.alpha.kubernetes.io/c": "unconfined"})),
    (B, 18, pod({"seccompProfile": {"type": "Unconfined"}})),
    (B, 27, pod(of_pod={"sysctls": [{"name": "net.ipv4.ip_local_reserved_ports"}]})),
    (B, 37, pod(of_pod={"sysctls": [{"name": "net.ipv4.tcp_notsent_lowat"}]})),
    (B, 35, pod({"procMount": "Unmasked"}, hostUsers=False)),
    (B, 33, pod(container={"livenessProbe": {"httpGet": {"host": "h"}}})),
    (B, 99, pod({"allowPrivilegeEscalation": True}, volumes=[{"name": "v", "nfs": {}}])),
    (R, 7, pod({"allowPrivilegeEscalation": True})),
    (R, 22, pod({"runAsUser": 0})),
    (R, 35, pod({"runAsUser": 0, "runAsNonRoot": False}, hostUsers=False)),
    (R, 99, pod({"capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}})),
    (R, 99, pod(volumes=[{"name": "a", "emptyDir": {}}, {"name": "b", "image": {}}])),
    (R, 99, pod(container={"securityContext": _OF_CONTAINERS}, of_pod=SAFE)),
]


@pytest.mark.parametrize(("level", "minor", "subject", "text"), REFUSED)
def test_what_is_refused(level: Level, minor: int, subject: PodUnderCheck, text: str) -> None:
    assert said(level, minor, subject).startswith(text)


@pytest.mark.parametrize(("level", "minor", "subject"), TAKEN)
def test_what_is_taken(level: Level, minor: int, subject: PodUnderCheck) -> None:
    assert said(level, minor, subject) == ""


@pytest.mark.parametrize("minor", range(NEWEST + 2))
def test_a_safe_pod_is_taken_by_all(minor: int) -> None:
    assert said(R, minor, pod()) == ""


def test_windows_pods_need_not_set_what_linux_alone_has() -> None:
    bare = PodUnderCheck({}, {"os": {"name": "windows"}, "containers": [{"name": "c"}]})
    assert said(R, 25, bare) == f"runAsNonRoot != true (pod or {_C} must set securityContext.runAsNonRoot=true)"
    assert "seccompProfile" in said(R, 24, bare)


def test_init_containers_are_named_first_and_ephemeral_ones_last() -> None:
    spec = {key: [{"name": key[0]}] for key in ("containers", "ephemeralContainers", "initContainers")}
    assert 'containers "i", "c", "e" must set' in said(R, 8, PodUnderCheck({}, spec))


def test_later_versions_are_as_the_newest() -> None:
    assert checks_of(R, NEWEST) != checks_of(R, NEWEST - 1)
    subject = pod({"procMount": "Unmasked"}, hostUsers=False)
    assert said(R, 10**9, subject) == said(R, NEWEST, subject)
    assert violations(LevelVersion(R), subject) == violations(LevelVersion(R, NEWEST), subject)


def test_checks_are_well_formed() -> None:
    names = [check.name for check in CHECKS]
    assert len(set(names)) == len(names)
    for check in CHECKS:
        since = [revision.since for revision in check.revisions]
        assert since == sorted(set(since))
        assert check.level is not Level.PRIVILEGED
        for revision in check.revisions:
            assert check.level is R or not revision.overrides
            assert set(revision.overrides) <= {each.name for each in CHECKS if each.level is B}


_context = st.fixed_dictionaries(
    {},
    optional={
        "privileged": st.booleans(),
        "allowPrivilegeEscalation": st.booleans(),
        "runAsNonRoot": st.booleans(),
        "runAsUser": st.integers(0, 2),
        "procMount": st.sampled_from(["Default", "Unmasked"]),
        "seccompProfile": st.fixed_dictionaries(
            {"type": st.sampled_from(["RuntimeDefault", "Localhost", "Unconfined"])}
        ),
        "capabilities": st.fixed_dictionaries(
            {}, optional={"add": st.lists(st.sampled_from(["CHOWN", "X"])), "drop": st.just(["ALL"])}
        ),
    },
)


@given(st.lists(_context, min_size=1, max_size=3), _context, st.integers(0, NEWEST + 1))
def test_what_restricted_takes_baseline_takes(contexts: list[Any], whole: Any, minor: int) -> None:
    containers = [{"name": str(index), "securityContext": each} for index, each in enumerate(contexts)]
    subject = PodUnderCheck({}, {"containers": containers, "securityContext": whole})
    if not said(R, minor, subject):
        assert not said(B, minor, subject)
