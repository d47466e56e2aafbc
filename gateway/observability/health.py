"""Health checks: /healthz, /livez and /readyz, each a list of named checks (Kubernetes, "API health endpoints")."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from gateway.requests.parts import Gateway
from storage.errors import NoSpace, StorageError
from storage.instruments import STABLE, counter, gauge

Check = Callable[[], Awaitable[None]]  # raises Unhealthy

ETCD_TIMEOUT = 2.0
ROLES_TIMEOUT = 5.0  # seconds that a check waits for what a start is about to finish


HEALTHY = gauge(
    "kubernetes_healthcheck", "Whether a check went well the last time.", "name", "type", level=STABLE, across="max"
)
CHECKED = counter(
    "kubernetes_healthchecks_total", "How often a check came to what.", "name", "type", "status", level=STABLE
)
SLIS = frozenset({HEALTHY.name, CHECKED.name})


class Unhealthy(Exception):
    """A check failed; the message is for the log and for who may see single checks."""


@dataclass(frozen=True, slots=True)
class Report:
    """What the checks of one endpoint came to: the text to answer with and the failures to log."""

    healthy: bool
    text: str
    failures: Mapping[str, str]


async def report(endpoint: str, checks: Mapping[str, Check], excluded: Collection[str], verbose: bool) -> Report:
    """Runs the checks that are not excluded, side by side, since some of them wait; failures make the text verbose,
    without their reasons.
    """
    run = [name for name in checks if name not in excluded]
    reasons = dict(zip(run, await asyncio.gather(*(_failure(checks[name]) for name in run)), strict=True))
    for name, reason in reasons.items():
        HEALTHY.labels(name, endpoint).set(reason is None)
        CHECKED.labels(name, endpoint, "success" if reason is None else "error").inc()
    failures = {name: reason for name, reason in reasons.items() if reason is not None}
    lines: list[str] = []
    for name in checks:
        if name in excluded:
            lines.append(f"[+]{name} excluded: ok\n")
        else:
            lines.append(f"[-]{name} failed: reason withheld\n" if name in failures else f"[+]{name} ok\n")
    unknown = sorted(set(excluded) - checks.keys())
    if unknown:
        quoted = ",".join(f'"{name}"' for name in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {quoted}\n")
    if failures:
        return Report(False, f"{''.join(lines)}{endpoint} check failed\n", failures)
    return Report(True, f"{''.join(lines)}{endpoint} check passed\n" if verbose else "ok", failures)


async def _failure(check: Check) -> str | None:
    """Why it failed; None when it did not."""
    try:
        await check()
    except Unhealthy as error:
        return str(error)
    return None


# work that is done once the watch cache is loaded
_OF_CACHE = (
    "generic-apiserver-start-informers",
    "start-apiserver-admission-initializer",
    "start-kube-aggregator-informers",
    "start-apiextensions-informers",
    "storage-readiness",
)


def _looking(look: Callable[[], str]) -> Check:
    async def check() -> None:
        if wrong := look():
            raise Unhealthy(wrong)

    return check


def checks_of(gateway: Gateway, hooks: Sequence[str]) -> dict[str, dict[str, Check]]:
    """The checks of each endpoint. `hooks` names what has to be done once at start and is done by now."""

    async def passed() -> None:
        return None

    async def etcd() -> None:
        try:
            await gateway.client.revision(f"{gateway.settings.etcd_prefix}/".encode(), timeout=ETCD_TIMEOUT)
        except StorageError as error:
            raise Unhealthy(f"etcd failed: {error}") from error

    async def writable() -> None:
        await etcd()
        try:
            status = await gateway.client.status(timeout=ETCD_TIMEOUT)
        except StorageError as error:
            raise Unhealthy(f"etcd failed: {error}") from error
        if any("NOSPACE" in error for error in status.errors):
            raise Unhealthy(f"etcd failed: mvcc: database space exceeded: {NoSpace.REMEDY}")

    async def synced() -> None:
        if not gateway.feed.ready.is_set():
            raise Unhealthy("the watch cache is not loaded yet")

    async def not_stopping() -> None:
        if gateway.services.draining.is_set():
            raise Unhealthy("process is shutting down")

    async def roles() -> None:
        try:
            await asyncio.wait_for(gateway.services.policy.complete.wait(), ROLES_TIMEOUT)
        except TimeoutError:
            raise Unhealthy("not finished") from None

    async def kms() -> None:
        if encryption is not None and (wrong := await encryption.health()):
            raise Unhealthy(wrong)

    encryption = gateway.services.encryption
    basic: dict[str, Check] = {"ping": passed, "log": passed, "etcd": etcd}
    if encryption is not None and (
        encryption.asks_services or gateway.settings.encryption_provider_config_automatic_reload
    ):
        basic["kms-providers"] = kms
    started: dict[str, Check] = {f"poststarthook/{name}": passed for name in hooks}
    started["poststarthook/rbac/bootstrap-roles"] = roles
    started |= {f"poststarthook/{name}": synced for name in _OF_CACHE}
    started |= {name: _looking(look) for name, look in gateway.checks.items()}
    return {
        "healthz": {**basic, **started},
        "livez": {**basic, **started},
        "readyz": {**basic, "etcd-readiness": writable, "informer-sync": synced, **started, "shutdown": not_stopping},
    }
