"""Too old etcds are refused. One that may lose writes causes a warning, unless its data is temporary."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gateway.launch import etcd_check
from gateway.launch.errors import CannotServe
from gateway.launch.etcd_check import check_etcd


async def nothing(*_: Any) -> None:
    pass


def etcd(version: str, **settings: Any) -> tuple[Any, Any]:
    async def status() -> Any:
        return SimpleNamespace(version=version)

    async def compare() -> None:
        """One endpoint: there is no other cluster."""

    said = {"embedded_etcd": False, "data_dir": None, "etcd_prefix": "/registry", **settings}
    return SimpleNamespace(**said), SimpleNamespace(client=SimpleNamespace(status=status, compare=compare))


@pytest.mark.parametrize(
    ("version", "settings", "warns"),
    [
        ("3.5.1", {}, True),
        ("3.5.1", {"embedded_etcd": True, "data_dir": Path("kept")}, True),
        ("3.5.1", {"embedded_etcd": True}, False),
        ("3.4.20", {}, True),
        ("3.4.21", {}, False),
        ("3.5.5", {}, False),
        ("3.6.16", {}, False),
    ],
)
async def test_an_etcd_that_may_lose_writes_is_spoken_of(
    version: str, settings: dict[str, Any], warns: bool, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    monkeypatch.setattr(etcd_check, "check_restored", nothing)
    await check_etcd(*etcd(version, **settings))
    assert ("this etcd may lose acknowledged writes when it is killed, if it" in caplog.text) == warns


@pytest.mark.parametrize("version", ["3.3.27", "2.3.8", ""])
async def test_an_etcd_that_is_too_old_is_refused(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(etcd_check, "check_restored", nothing)
    with pytest.raises(CannotServe, match=r"is too old: use 3\.4 or later"):
        await check_etcd(*etcd(version))
