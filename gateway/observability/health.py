"""Health checks: /healthz, /livez and /readyz, each a list of named checks (Kubernetes, "API health endpoints")."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from gateway.requests.parts import Gateway
from storage.database import Database
from storage.errors import NoSpace, StorageError
from storage.instruments import STABLE, counter, gauge

Check = Callable[[], Awaitable[None]]  # raises Unhealthy

ETCD_TIMEOUT = 2.0
ROLES_TIMEOUT = 5.0  # seconds that a check waits for the default roles, which the start is about to create


HEALTHY = gauge(
    "kubernetes_healthcheck",
    "Result of the last run of a health check (1: healthy).",
    "name",
    "type",
    level=STABLE,
    across="max",
)
CHECKED = counter(
    "kubernetes_healthchecks_total", "Runs of a health check, by result.", "name", "type", "status", level=STABLE
)
ETCD = "etcd"
_OVERRIDE = re.compile(rf"^({ETCD})-override(-readiness)?-\d+$")
SLIS = frozenset({HEALTHY.name, CHECKED.name})


class Unhealthy(Exception):
    """A check failed. The message goes to the log, and to clients that ask for this single check."""


@dataclass(frozen=True, slots=True)
class HealthReport:
    """The result of the checks of one endpoint: the text of the answer, and the reasons of failures by check."""

    healthy: bool
    text: str
    failures: Mapping[str, str]


def group_of(name: str) -> str:
    """The name that excludes a check together with others: "etcd" also excludes the checks of the other etcds."""
    return _OVERRIDE.sub(r"\1\2", name)


async def report(
    endpoint: str, checks: Mapping[str, Check], given: Collection[str], verbose: bool, counts: bool = True
) -> HealthReport:
    """Runs the checks that `given` does not exclude (the query parameter `exclude`), in parallel, as some of them wait.

    If a check fails, the text is verbose, without the reasons. The metrics have the results if it `counts`.
    """
    excluded = frozenset(given)
    run = [name for name in checks if not excluded & {name, group_of(name)}]
    reasons = dict(zip(run, await asyncio.gather(*(_failure(checks[name]) for name in run)), strict=True))
    for name, reason in reasons.items() if counts else ():
        HEALTHY.labels(name, endpoint).set(reason is None)
        CHECKED.labels(name, endpoint, "success" if reason is None else "error").inc()
    failures = {name: reason for name, reason in reasons.items() if reason is not None}
    lines: list[str] = []
    for name in checks:
        if name in excluded:
            lines.append(f"[+]{name} excluded: ok\n")
        elif group_of(name) in excluded:
            lines.append(f"[+]{name} excluded with {group_of(name)}: ok\n")
        else:
            lines.append(f"[-]{name} failed: reason withheld\n" if name in failures else f"[+]{name} ok\n")
    unknown = sorted(excluded - checks.keys() - set(map(group_of, checks)))
    if unknown:
        quoted = ",".join(f'"{name}"' for name in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {quoted}\n")
    if failures:
        return HealthReport(False, f"{''.join(lines)}{endpoint} check failed\n", failures)
    return HealthReport(True, f"{''.join(lines)}{endpoint} check passed\n" if verbose else "ok", failures)


async def _failure(check: Check) -> str | None:
    """The reason if the check fails, else None."""
    try:
        await check()
    except Unhealthy as error:
        return str(error)
    return None


_ROLES = "poststarthook/rbac/bootstrap-roles"
_RELOADS = "start-encryption-provider-config-automatic-reload"
# kube-apiserver's post-start hooks that are done here once the watch cache is loaded
_OF_CACHE = (
    "generic-apiserver-start-informers",
    "start-apiserver-admission-initializer",
    "start-kube-aggregator-informers",
    "start-apiextensions-informers",
    "storage-readiness",
    "storage-object-count-tracker-hook",
)
_OF_FLOW_CONTROL = ("priority-and-fairness-config-consumer", "priority-and-fairness-filter")
_ORDER = (
    "poststarthook/start-encryption-provider-config-automatic-reload",
    "poststarthook/start-apiserver-admission-initializer",
    "poststarthook/generic-apiserver-start-informers",
    "poststarthook/priority-and-fairness-config-consumer",
    "poststarthook/priority-and-fairness-filter",
    "poststarthook/max-in-flight-filter",
    "poststarthook/storage-object-count-tracker-hook",
    "poststarthook/start-apiextensions-informers",
    "poststarthook/start-apiextensions-controllers",
    "poststarthook/crd-informer-synced",
    "poststarthook/start-system-namespaces-controller",
    "poststarthook/start-cluster-authentication-info-controller",
    "poststarthook/start-kube-apiserver-identity-lease-controller",
    "poststarthook/start-kube-apiserver-identity-lease-garbage-collector",
    "poststarthook/storage-readiness",
    "poststarthook/start-legacy-token-tracking-controller",
    "poststarthook/start-service-ip-repair-controllers",
    "poststarthook/rbac/bootstrap-roles",
    "poststarthook/scheduling/bootstrap-system-priority-classes",
    "poststarthook/priority-and-fairness-config-producer",
    "poststarthook/bootstrap-controller",
    "poststarthook/start-kubernetes-service-cidr-controller",
    "poststarthook/start-kube-aggregator-informers",
    "poststarthook/apiservice-status-local-available-controller",
    "poststarthook/apiservice-status-remote-available-controller",
    "poststarthook/apiservice-registration-controller",
    "poststarthook/apiservice-discovery-controller",
    "poststarthook/kube-apiserver-autoregistration",
    "autoregister-completion",
    "poststarthook/apiservice-openapi-controller",
    "poststarthook/apiservice-openapiv3-controller",
)
"""The order of the checks in kube-apiserver's answers; checks that are not in this list come last."""


def _looking(look: Callable[[], str]) -> Check:
    async def check() -> None:
        if wrong := look():
            raise Unhealthy(wrong)

    return check


async def _passed() -> None:
    """A check that always passes."""


class _Checks:
    """The single checks of a server process."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def synced(self) -> None:
        databases = self._gateway.services.databases
        if not all(each.feed.ready.is_set() and not each.cache.unfilled for each in databases):
            raise Unhealthy("the watch cache is not loaded yet")

    async def not_stopping(self) -> None:
        if self._gateway.services.draining.is_set():
            raise Unhealthy("process is shutting down")

    async def begun(self) -> None:
        if not self._gateway.served.is_set():
            raise Unhealthy("not finished")

    async def roles(self) -> None:
        await self.begun()
        try:
            await asyncio.wait_for(self._gateway.services.policy.complete.wait(), ROLES_TIMEOUT)
        except TimeoutError:
            raise Unhealthy("not finished") from None

    async def all_roles(self) -> None:
        """Like `roles`, but also fails if the start went on without some default roles. Only /readyz uses it."""
        await self.roles()
        if lacking := self._gateway.services.policy.lacking:
            raise Unhealthy(lacking)

    async def kms(self) -> None:
        encryption = self._gateway.services.encryption
        if encryption is not None and (wrong := await encryption.health()):
            raise Unhealthy(wrong)

    async def kms_provider(self, index: int) -> None:
        encryption = self._gateway.services.encryption
        if encryption is not None and (wrong := await encryption.health_of(index)):
            raise Unhealthy(wrong)

    def of_flow_control(self) -> dict[str, Check]:
        """The checks of priority and fairness, or of the max-in-flight limit."""
        if not self._gateway.settings.enable_priority_and_fairness:
            return {"poststarthook/max-in-flight-filter": _passed}
        found: dict[str, Check] = {f"poststarthook/{name}": self.synced for name in _OF_FLOW_CONTROL}
        return found | {"poststarthook/priority-and-fairness-config-producer": self.begun}

    def of_encryption(self) -> tuple[dict[str, Check], dict[str, Check]]:
        """The checks of key management services (KMS), and the check of the automatic reload.

        With automatic reload, one check covers all services, as a reload may bring other ones.
        """
        encryption = self._gateway.services.encryption
        if encryption is None:
            return {}, {}
        if self._gateway.settings.encryption_provider_config_automatic_reload:
            return {"kms-providers": self.kms}, {f"poststarthook/{_RELOADS}": _passed}
        return {f"kms-provider-{index}": partial(self.kms_provider, index) for index in range(encryption.services)}, {}


async def _answers(database: Database) -> None:
    try:
        await database.client.revision(database.cache.root, timeout=ETCD_TIMEOUT)
    except StorageError as error:
        raise Unhealthy(f"etcd failed: {error}") from error


async def _takes_writes(database: Database) -> None:
    await _answers(database)
    try:
        status = await database.client.status(timeout=ETCD_TIMEOUT)
    except StorageError as error:
        raise Unhealthy(f"etcd failed: {error}") from error
    if any("NOSPACE" in error for error in status.errors):
        raise Unhealthy(f"etcd failed: mvcc: database space exceeded: {NoSpace.REMEDY}")


def _of_etcds(databases: Sequence[Database]) -> tuple[dict[str, Check], dict[str, Check]]:
    """The checks of all etcds for /healthz and /livez, and those for /readyz. The names for etcds of
    --etcd-servers-overrides have numbers.
    """
    alive: dict[str, Check] = {}
    ready: dict[str, Check] = {}
    for number, database in enumerate(databases, -1):
        override, suffix = ("", "") if number < 0 else ("-override", f"-{number}")
        alive[f"{ETCD}{override}{suffix}"] = ready[f"{ETCD}{override}{suffix}"] = partial(_answers, database)
        ready[f"{ETCD}{override}-readiness{suffix}"] = partial(_takes_writes, database)
    return alive, ready


def checks_of(
    gateway: Gateway, hooks: Sequence[str], looks: Mapping[str, Callable[[], str]]
) -> dict[str, dict[str, Check]]:
    """The checks of each endpoint (healthz, livez, readyz), by name.

    `hooks` are the names of the work of the start. `looks` has checks of background work; each returns the problem, ""
    for none.
    """
    checks = _Checks(gateway)
    basic: dict[str, Check] = {"ping": _passed, "log": _passed}
    alive, ready = _of_etcds(gateway.services.databases)
    kms, started = checks.of_encryption()
    started |= {f"poststarthook/{name}": checks.begun for name in hooks}
    started[_ROLES] = checks.roles
    started |= {f"poststarthook/{name}": checks.synced for name in _OF_CACHE}
    started |= checks.of_flow_control()
    started |= {name: _looking(look) for name, look in looks.items()}
    started = {name: started[name] for name in dict.fromkeys((*_ORDER, *started)) if name in started}
    synced: dict[str, Check] = {"informer-sync": checks.synced}
    furnished = {**started, _ROLES: checks.all_roles}
    return {
        "healthz": {**basic, **alive, **kms, **started},
        "livez": {**basic, **alive, **started},
        "readyz": {**basic, **ready, **kms, **synced, **furnished, "shutdown": checks.not_stopping},
    }
