"""Extension servers in a server process: what follows them is put together and tied to requests and health checks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from gateway.aggregation.running import AGGREGATION_HOOKS, Aggregation
from gateway.controllers.definitions import Definitions
from gateway.credentials.front_proxy import front_proxy_identity
from gateway.discovery.serving import Discovery
from gateway.requests.parts import Gateway


def aggregation_of(gateway: Gateway, discovery: Discovery) -> Aggregation:
    """What knows extension servers; it follows them, and requests for them are answered from now on."""
    made = Aggregation(gateway.endpoints, discovery, front_proxy_identity(gateway.settings))

    def changed(_: set[str]) -> None:
        gateway.delegate = made.delegation

    made.services.on_change(changed)
    made.follow()
    gateway.described = made.described
    return made


async def aggregate(aggregation: Aggregation, started: asyncio.Event) -> None:
    """Looks after extension servers once requests are answered."""
    await started.wait()
    await aggregation.run()


def checks_of(
    definitions: Definitions, aggregation: Aggregation, tasks: Mapping[str, asyncio.Task[None]]
) -> dict[str, Callable[[], str]]:
    """Health checks of what is done beside the requests, by upstream's names: what is wrong, "" if nothing is."""

    def runs(name: str) -> Callable[[], str]:
        return lambda: "it has ended" if tasks[name].done() else ""

    def defined() -> str:
        return "" if definitions.ready.is_set() else "definitions are not served yet"

    checks = {"crd-informer-synced": defined, "start-apiextensions-controllers": runs("definitions")}
    checks |= dict.fromkeys(AGGREGATION_HOOKS, runs("aggregation"))
    found: dict[str, Callable[[], str]] = {f"poststarthook/{name}": check for name, check in checks.items()}
    return found | {"autoregister-completion": aggregation.registration.missing}
