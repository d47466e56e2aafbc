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
ROOT = Path(__file__).parents[3]
RELOADS = "poststarthook/start-encryption-provider-config-automatic-reload"


def probes(
    etcd: str = "", *, kms: int | None = None, reloads: bool = False, etcds: int = 1, fair: bool = True
) -> Probes:
    """The health checks of a running server with `etcds` etcds, which all fail with the error `etcd` if it is given.

    `kms` is the number of its KMS services, None without encryption. `fair` says whether it has priority and fairness.
    """

    async def well(*_: object) -> str:
        return ""

    async def revision(*_: Any, **__: Any) -> int:
        if etcd:
            raise Unavailable(etcd)
        return 1

    async def status(**_: Any) -> Any:
        return SimpleNamespace(errors=[])

    ready = asyncio.Event()
    ready.set()
    database = SimpleNamespace(
        client=SimpleNamespace(revision=revision, status=status),
        cache=SimpleNamespace(root=b"/registry/", unfilled={}),
        feed=SimpleNamespace(ready=ready),
    )
    gateway = SimpleNamespace(
        stopping=asyncio.Event(),
        served=ready,
        settings=SimpleNamespace(
            encryption_provider_config_automatic_reload=reloads, enable_priority_and_fairness=fair
        ),
        services=SimpleNamespace(
            policy=SimpleNamespace(complete=ready, lacking=""),
            encryption=None if kms is None else SimpleNamespace(services=kms, health=well, health_of=well),
            draining=asyncio.Event(),
            databases=[database] * etcds,
        ),
    )
    return Probes(cast(Gateway, gateway), ["hook"], {})


async def asked(of: Probes, path: str, method: str = "GET", query: bytes = b"") -> tuple[int, bytes, list[Any]] | None:
    """Status, body and headers; None if another handler must answer."""
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
    assert (
        found is not None
        and b"[+]etcd excluded: ok\n[+]poststarthook/start-apiserver-admission-initializer ok\n"
        in found[1].replace(b"[+]etcd-readiness ok\n[+]informer-sync ok\n", b"")
    )


async def test_what_is_wrong_is_said_to_who_asks_for_the_one_check(caplog: pytest.LogCaptureFixture) -> None:
    found = await asked(probes("gone"), "/livez")
    assert found is not None and found[0] == 500 and b"[-]etcd failed: reason withheld\n" in found[1]
    assert ("livez check failed", "etcd failed: gone") in [
        (each.getMessage(), vars(each).get("etcd")) for each in caplog.records
    ]
    found = await asked(probes("gone"), "/livez/etcd")
    assert found is not None and found[:2] == (500, b"internal server error: etcd failed: gone\n")
    assert (await asked(probes("gone"), "/livez/ping") or ())[:2] == (200, b"ok")


@pytest.mark.parametrize(("path", "method"), [("/livez/nothing", "GET"), ("/livez/", "BREW")])
async def test_what_is_not_there_is_not_found(path: str, method: str) -> None:
    assert (await asked(probes(), path, method) or ())[:2] == (404, b"404 page not found\n")


@pytest.mark.parametrize("path", ["/livez", "/livez/ping"])
async def test_any_method_asks_for_health(path: str) -> None:
    assert (await asked(probes(), path, "BREW") or ())[:2] == (200, b"ok")


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


async def test_each_etcd_has_its_checks_in_kube_apiservers_order() -> None:
    of = probes(kms=1, reloads=True, etcds=3)
    before = ["ping", "log", "etcd"]
    overrides = ["etcd-override-0", "etcd-override-1"]
    ready = [
        *("etcd-readiness", "etcd-override-0", "etcd-override-readiness-0"),
        *("etcd-override-1", "etcd-override-readiness-1", "kms-providers", "informer-sync"),
    ]
    for path, names in (
        ("/readyz", [*before, *ready, RELOADS]),
        ("/healthz", [*before, *overrides, "kms-providers", RELOADS]),
        ("/livez", [*before, *overrides, RELOADS, "poststarthook/start-apiserver-admission-initializer"]),
    ):
        answer = await asked(of, path, query=b"verbose")
        assert answer is not None
        assert answer[1].decode().splitlines()[: len(names)] == [f"[+]{name} ok" for name in names]


async def test_each_key_management_service_has_its_check_where_there_can_be_no_others() -> None:
    answer = await asked(probes(kms=2), "/readyz", query=b"verbose")
    assert answer is not None and b"[+]kms-provider-0 ok\n[+]kms-provider-1 ok\n[+]informer-sync ok\n" in answer[1]
    answer = await asked(probes(kms=0), "/readyz", query=b"verbose")
    assert answer is not None and b"kms" not in answer[1]


async def test_the_checks_of_all_etcds_are_excluded_together_or_each_for_itself() -> None:
    answer = await asked(probes("away", etcds=2), "/livez", query=b"exclude=etcd")
    assert answer is not None and answer[:2] == (200, b"ok")
    answer = await asked(probes("away", etcds=2), "/livez", query=b"exclude=etcd-override-0&verbose")
    assert answer is not None and answer[0] == 500
    assert b"[-]etcd failed: reason withheld\n[+]etcd-override-0 excluded: ok\n" in answer[1]
    query = b"exclude=etcd&exclude=etcd-readiness&exclude=x&verbose"
    answer = await asked(probes("away", etcds=2), "/readyz", query=query)
    assert answer is not None and answer[0] == 200
    assert b"[+]etcd-override-readiness-0 excluded with etcd-readiness: ok\n" in answer[1]
    assert b'no matches for "x"\n' in answer[1]


@pytest.mark.parametrize(
    ("fair", "names"),
    [
        (True, ["priority-and-fairness-config-consumer", "priority-and-fairness-filter"]),
        (False, ["max-in-flight-filter"]),
    ],
)
async def test_what_limits_requests_has_checks_in_its_place(fair: bool, names: list[str]) -> None:
    answer = await asked(probes(fair=fair), "/livez", query=b"verbose")
    assert answer is not None
    shown = [line.partition(" ")[0].removeprefix("[+]poststarthook/") for line in answer[1].decode().splitlines()]
    start = shown.index("generic-apiserver-start-informers") + 1
    assert shown[start : start + len(names) + 1] == [*names, "storage-object-count-tracker-hook"]
    assert ("priority-and-fairness-config-producer" in shown) is fair
    assert shown[-2] == "hook"  # what kube-apiserver does not have comes last
