"""What cannot be made now is told, and tried again later."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gateway.clusters import reconciler as reconciler_module
from gateway.clusters.definition import MAKING, READY, ClusterDefinition
from gateway.clusters.reconciler import Reconciler
from gateway.clusters.template_copy import TooMuch
from gateway.clusters.templates import ClusterTemplate


def described(name: str, template: str = "", phase: str = MAKING) -> ClusterDefinition:
    """A control plane with the finalizer."""
    values: dict[str, Any] = {"name": name, "uid": f"uid-{name}", "template": template, "phase": phase}
    return ClusterDefinition(**values, users=frozenset(), groups=frozenset(), is_ending=False, is_finalized=True)


class _Table:
    """One control plane of a template that is too large."""

    def __init__(self) -> None:
        nothing = asyncio.Future[None]()
        nothing.set_result(None)
        client = SimpleNamespace(get=lambda key: nothing, txn=lambda *_: nothing)
        self.common = SimpleNamespace(client=client, root=b"/clusters/")
        self.all = {each.name: each for each in (described("large", phase=READY), described("copy", "large"))}
        self.described, self.copies = self.all.get, 0

    def url_of(self, name: str) -> str:
        return f"https://host/clusters/{name}"

    async def copy_of(self, of: ClusterDefinition) -> ClusterTemplate:
        self.copies += 1
        raise TooMuch("it has too much")


class _Reconciler(Reconciler):
    """Remembers what it tells of a control plane."""

    def __init__(self, table: _Table) -> None:
        root = SimpleNamespace(endpoints=None, settings=None)
        super().__init__(cast(Any, root), cast(Any, table))
        self.told: list[str] = []
        self._actor = cast(Any, SimpleNamespace(of=lambda *_: None, create=self._created))
        self._leading = cast(Any, SimpleNamespace(txn=lambda *_: table.common.client.txn()))

    async def _created(self, *_: object) -> object:
        return object()

    async def _tell(
        self, of: ClusterDefinition, phase: str, ready: str, reason: str, message: str, url: str = ""
    ) -> None:
        self.told.append(reason)


async def test_a_template_that_is_too_large_is_told_and_tried_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not after each of the short delays of a failure: each try reads all that it may have."""
    monkeypatch.setattr(reconciler_module, "new_secret", lambda *_: {})
    table = _Table()
    reconciler = _Reconciler(table)
    await reconciler._reconcile("copy")
    assert reconciler.told == ["TemplateTooLarge"] and table.copies == 1
    [timer] = reconciler._queue._timers.values()
    assert timer.when() - asyncio.get_running_loop().time() > 60
    reconciler._queue.close()
