"""The checks of each level in each version of Kubernetes, in the order in which messages name violations."""

from __future__ import annotations

import asyncio
from functools import cache

from gateway.admission.podsecurity.check import CheckPod, PodUnderCheck, Revision, Violation
from gateway.admission.podsecurity.checks import CHECKS
from gateway.admission.podsecurity.levels import Level, LevelVersion

_MANY = 500

NEWEST = max(check.revisions[-1].since for check in CHECKS)
"""The last minor version that changed a check. Later versions, and "latest", have the same checks."""


def violations(mode: LevelVersion, pod: PodUnderCheck, newest: int = NEWEST) -> list[Violation]:
    """The violations of a level by a pod, [] if the pod is allowed. `newest` is the minor that is served."""
    if mode.level is Level.PRIVILEGED:
        return []
    minor = min(NEWEST, newest, newest if mode.minor is None else mode.minor)
    return [found for check in checks_of(mode.level, minor) if (found := check(pod)) is not None]


async def violations_of(mode: LevelVersion, pod: PodUnderCheck, newest: int = NEWEST) -> list[Violation]:
    """As `violations`, but a pod with very many parts is checked in a thread, not on the event loop."""
    if pod.parts < _MANY:
        return violations(mode, pod, newest)
    return await asyncio.to_thread(violations, mode, pod, newest)


@cache
def checks_of(level: Level, minor: int) -> tuple[CheckPod, ...]:
    """The checks of a level in a minor version: those of baseline first, then those of restricted, each by name.

    Checks of baseline that a check of restricted overrides are left out.
    """
    found: dict[str, Revision] = {}
    for of_level in (Level.BASELINE, Level.RESTRICTED):
        for check in sorted(CHECKS, key=lambda each: each.name):
            revision = max((r for r in check.revisions if r.since <= minor), key=lambda r: r.since, default=None)
            if check.level is of_level and of_level <= level and revision is not None:
                found[check.name] = revision
    overridden = {name for revision in found.values() for name in revision.overrides}
    return tuple(revision.violation for name, revision in found.items() if name not in overridden)
