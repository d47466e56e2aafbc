"""The routes of health checks. They do not use FastAPI: every server gets probes, and to import it takes 13 MB."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any

from gateway.http.exchange import TEXT_TYPE, Response, parse_query
from gateway.http.send import Send
from gateway.observability import health
from gateway.requests.parts import Gateway
from gateway.requests.plain_answers import NO_SNIFF, PAGE_NOT_FOUND

logger = logging.getLogger(__name__)

Query = Mapping[str, Sequence[str]]


class Probes:
    """Answers /healthz, /livez, /readyz and the paths below them."""

    def __init__(
        self,
        gateway: Gateway,
        hooks: Sequence[str],
        checks: Mapping[str, Callable[[], str]],
        *,
        counts: bool = True,
    ) -> None:
        """`hooks` are the names of the work of the start (post-start hooks). `checks` has more checks by name; each
        returns the problem, "" for none. The metrics have the results if it `counts`.
        """
        self._counts = counts
        self._endpoints = health.checks_of(gateway, hooks, checks)

    def paths(self) -> list[str]:
        """All paths of health checks."""
        found = []
        for endpoint, checks in self._endpoints.items():
            found += [f"/{endpoint}", *(f"/{endpoint}/{name}" for name in checks)]
        return found

    async def answered(self, scope: MutableMapping[str, Any], send: Send) -> bool:
        """Answers a request of any method; returns False for a path of something else."""
        root, _, below = scope["path"].partition("/")
        endpoint, single, name = below.partition("/")
        checks = self._endpoints.get(endpoint)
        if root or checks is None:
            return False
        if single:
            response = await _one(checks, name)
        else:
            response = await _all(endpoint, checks, parse_query(scope["query_string"]), self._counts)
        assert isinstance(response.body, bytes)
        length = b"%d" % len(response.body)
        headers = [*response.headers, (b"content-length", length), (b"content-type", response.content_type)]
        await send({"type": "http.response.start", "status": response.status, "headers": headers})
        await send({"type": "http.response.body", "body": response.body})
        return True


async def _all(endpoint: str, checks: Mapping[str, health.Check], query: Query, counts: bool) -> Response:
    report = await health.report(endpoint, checks, query.get("exclude", ()), "verbose" in query, counts)
    if not report.healthy:
        logger.warning("%s check failed", endpoint, extra=dict(report.failures))
    return Response(200 if report.healthy else 500, report.text.encode(), TEXT_TYPE, [NO_SNIFF])


async def _one(checks: Mapping[str, health.Check], name: str) -> Response:
    check = checks.get(name)
    if check is None:
        return PAGE_NOT_FOUND
    try:
        await check()
    except health.Unhealthy as error:
        return Response(500, f"internal server error: {error}\n".encode(), TEXT_TYPE, [NO_SNIFF])
    return Response(200, b"ok", TEXT_TYPE)
