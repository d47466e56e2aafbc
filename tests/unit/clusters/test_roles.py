"""A failure of etcd while default roles are completed is told, and does not keep a control plane from being loaded."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from gateway.clusters import roles
from gateway.clusters.roles import DefaultRoles
from gateway.release.release import release_of
from storage.errors import Unavailable


async def test_a_failure_is_told(caplog: pytest.LogCaptureFixture) -> None:
    async def get(key: bytes) -> None:
        raise Unavailable("it is away")

    database = SimpleNamespace(cache=SimpleNamespace(root=b"/clusters/uid/"), store=SimpleNamespace(get=get))
    await DefaultRoles(release_of(), {}).complete(cast(Any, None), cast(Any, database))
    assert [record.getMessage() for record in caplog.records] == [
        "default roles of a control plane could not be completed: it is away"
    ]


async def test_the_next_load_writes_a_role_that_was_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    written, accepted = list[bytes](), False

    async def get(key: bytes) -> None:
        return None

    async def bootstrap_roles(endpoints: Any) -> bool:
        return accepted

    async def change(store: Any, key: bytes, make: Any) -> None:
        written.append(key)

    async def create_missing(objects: Any) -> None:
        services.append(len(list(objects)))

    services = list[int]()
    nothing = SimpleNamespace(create_missing=create_missing, refused=set())
    monkeypatch.setattr(roles, "BootstrapObjects", lambda endpoints: nothing)
    monkeypatch.setattr(roles, "bootstrap_roles", bootstrap_roles)
    monkeypatch.setattr(roles, "change", change)
    database = SimpleNamespace(cache=SimpleNamespace(root=b"/clusters/uid/"), store=SimpleNamespace(get=get))
    tried = DefaultRoles(release_of(), {"apps": ["v1"]})
    await tried.complete(cast(Any, None), cast(Any, database))
    assert not written
    accepted = True
    await tried.complete(cast(Any, None), cast(Any, database))
    assert written == [b"/clusters/uid/apiserver-gateway/roles"]
    assert services == [1, 1]
    nothing.refused.add("v1.apps")
    await tried.complete(cast(Any, None), cast(Any, database))
    assert len(written) == 1


def test_the_digest_covers_the_groups_that_are_served() -> None:
    assert DefaultRoles(release_of(), {}).digest != DefaultRoles(release_of(), {"apps": ["v1"]}).digest
