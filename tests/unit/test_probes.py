"""Health checks are answered without FastAPI."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import MutableMapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gateway.observability.probes import Probes
from gateway.requests.parts import Gateway
from storage.errors import Unavailable

NO_SNIFF = (b"x-content-type-options", b"nosniff")
ROOT = Path(__file__).parents[2]


def probes(etcd: str = "") -> Probes:
    """Those of a server that serves; `etcd` says what its etcd refuses with."""

    async def revision(*_: Any, **__: Any) -> int:
        if etcd:
            raise Unavailable(etcd)
        return 1

    async def status(**_: Any) -> Any:
        return SimpleNamespace(errors=[])

    ready = asyncio.Event()
    ready.set()
    gateway = SimpleNamespace(
        client=SimpleNamespace(revision=revision, status=status),
        settings=SimpleNamespace(etcd_prefix="/registry"),
        feed=SimpleNamespace(ready=ready),
        stopping=asyncio.Event(),
        services=SimpleNamespace(policy=SimpleNamespace(complete=ready), encryption=None, draining=asyncio.Event()),
        checks={},
    )
    return Probes(cast(Gateway, gateway), ["hook"])


async def asked(of: Probes, path: str, method: str = "GET", query: bytes = b"") -> tuple[int, bytes, list[Any]] | None:
    """Status, body and headers; None where somebody else is to answer."""
    said: list[MutableMapping[str, Any]] = []

    async def send(message: MutableMapping[str, Any]) -> None:
        said.append(message)

    if not await of.answered({"path": path, "method": method, "query_string": query}, send):
        assert not said
        return None
    start, body = said
    return start["status"], body["body"], start["headers"]


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
async def test_a_server_that_serves_is_well(path: str) -> None:
    kind = (b"content-type", b"text/plain; charset=utf-8")
    assert await asked(probes(), path) == (200, b"ok", [NO_SNIFF, (b"content-length", b"2"), kind])
    found = await asked(probes(), path, query=b"verbose&exclude=etcd")
    assert found is not None and b"[+]etcd excluded: ok\n[+]poststarthook/hook ok\n" in found[1].replace(
        b"[+]etcd-readiness ok\n[+]informer-sync ok\n", b""
    )


async def test_what_is_wrong_is_said_to_who_asks_for_the_one_check() -> None:
    found = await asked(probes("gone"), "/livez")
    assert found is not None and found[0] == 500 and b"[-]etcd failed: reason withheld\n" in found[1]
    found = await asked(probes("gone"), "/livez/etcd")
    assert found is not None and found[:2] == (500, b"internal server error: etcd failed: gone\n")
    assert (await asked(probes("gone"), "/livez/ping") or ())[:2] == (200, b"ok")


@pytest.mark.parametrize(("path", "method"), [("/livez/nothing", "GET"), ("/livez/", "GET"), ("/livez", "BREW")])
async def test_what_is_not_there_is_not_found(path: str, method: str) -> None:
    assert (await asked(probes(), path, method) or ())[:2] == (404, b"404 page not found\n")


@pytest.mark.parametrize("path", ["/", "/version", "livez", "/livezz", "/api/livez"])
async def test_the_rest_is_for_others(path: str) -> None:
    assert await asked(probes(), path) is None


def test_all_paths_are_told() -> None:
    found = probes().paths()
    assert {"/livez", "/readyz", "/healthz", "/readyz/shutdown", "/livez/poststarthook/hook"} <= set(found)


def test_fastapi_is_not_imported_for_them() -> None:
    code = "import sys, gateway.operations.application; print('fastapi' in sys.modules, 'starlette' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert run.stdout == "False False\n"
