"""APIServices of deleted CRDs are removed, and no others with such names."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from gateway.aggregation.registration import Registration
from gateway.aggregation.services import ApiService
from gateway.kinds.registry import Registry
from gateway.writing.options import DeleteOptions
from storage.entry import Entry

NAME = "v1.e.com"


async def test_the_very_one_is_removed_that_was_looked_at() -> None:
    deleted = list[DeleteOptions]()

    async def delete(endpoint: object, namespace: str, name: str, options: DeleteOptions) -> bool:
        deleted.append(options)
        return True

    entry = Entry(b"key", b"{", b'"metadata":{"uid":"u-1"}}', 1)
    service = ApiService(NAME, "e.com", "v1", 1, 1, "true", True, entry=entry)
    services = SimpleNamespace(get={NAME: service}.get, on_change=lambda listener: None)
    actor = SimpleNamespace(of=lambda *place: None, delete=delete)
    definitions = SimpleNamespace(on_change=lambda listener: None, served_versions=())
    await Registration(*cast(Any, (services, Registry(), actor, definitions))).reconcile(NAME)
    assert [options.uid for options in deleted] == ["u-1"]
