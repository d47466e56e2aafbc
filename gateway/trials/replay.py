"""Replays recorded changes: objects are written unchanged, without admission, and watches see every change."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from gateway.apply.nonconformity import nonconformity
from gateway.endpoints.table import EndpointTable
from gateway.http.status import StatusError, bad_request
from storage.store import EtcdStore

MOST = 1000  # the most changes of one request
AT_ONCE = 100  # the most changes of one transaction
TRANSACTION_BYTES = 1_000_000
TYPES = ("ADDED", "MODIFIED", "DELETED")


class Replay:
    """Writes changes in their order. A transaction has changes of different objects only; a second change of an object
    starts a new one.
    """

    def __init__(self, endpoints: EndpointTable, store: EtcdStore) -> None:
        self._endpoints, self._store = endpoints, store

    async def play(self, body: bytes) -> int:
        """Writes the changes of a request body, and returns their number. Later reads see them.

        Each change has a `type` as in watches, the plural name of its `resource`, and its `object`. Raises StatusError
        and StorageError.
        """
        changes = _changes(body)
        puts, deletes, size, revision = dict[bytes, bytes](), set[bytes](), 0, 0
        for change in changes:
            key, value = self._written(change)
            more = len(key) + len(value or b"")
            full = len(puts) + len(deletes) >= AT_ONCE or size + more > TRANSACTION_BYTES
            if full or key in puts or key in deletes:
                revision = await self._store.write([*puts.items()], [*deletes])
                puts, deletes, size = {}, set(), 0
            size += more
            if value is None:
                deletes.add(key)
            else:
                puts[key] = value
        revision = await self._store.write([*puts.items()], [*deletes]) or revision
        await self._store.reads.not_older_than(revision)
        return len(changes)

    def _written(self, change: Mapping[str, Any]) -> tuple[bytes, bytes | None]:
        """The key of a change, and its new value; None for DELETED. Raises StatusError 400."""
        try:
            obj, metadata = change["object"], change["object"]["metadata"]
            group, _, version = str(obj["apiVersion"]).rpartition("/")
            endpoint = self._endpoints.of(group, version, str(change["resource"]))
            namespace = str(metadata["namespace"]) if endpoint.resource.namespaced else ""
            name = str(metadata["name"])
            if not name or "/" in f"{namespace}{name}":
                raise bad_request(f"{namespace}/{name} is not a name")
            key = endpoint.key(namespace, name)
            if change["type"] not in TYPES:
                raise bad_request(f"type {change['type']!r}: there are {', '.join(TYPES)}")
            if change["type"] == "DELETED":
                return key, None
            if problem := nonconformity(obj, endpoint.written.type):
                raise bad_request(f"{change['resource']}/{metadata['name']}: {problem}")
            return key, endpoint.written.encode(obj)
        except StatusError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise bad_request(f"no change of an object that is served: {type(error).__name__}: {error}") from None


def _changes(body: bytes) -> list[Mapping[str, Any]]:
    try:
        found = json.loads(body)["changes"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise bad_request('give {"changes": [{"type": "ADDED", "resource": "pods", "object": {…}}]}') from None
    if not isinstance(found, list) or len(found) > MOST:
        raise bad_request(f"changes are a list, of {MOST} at most")
    return found
