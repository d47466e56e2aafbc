"""The client: all etcd services over one set of endpoints."""

from __future__ import annotations

from types import TracebackType

from storage.etcd.endpoints import Endpoints
from storage.etcd.kv import KV
from storage.etcd.lease import Leases
from storage.etcd.maintenance import Maintenance
from storage.etcd.settings import EtcdSettings
from storage.etcd.transformer import Transformer, TransformingKV
from storage.etcd.watch import Watches


class EtcdClient:
    """Make and use it on one event loop; it connects when first used. Its methods are documented on KV and Watches."""

    def __init__(self, settings: EtcdSettings, transformer: Transformer | None = None) -> None:
        """A `transformer` transforms values when they are written and read, such as for encryption."""
        self.transformer = transformer
        self._endpoints = Endpoints(settings)
        if transformer is None:
            self.kv = KV(self._endpoints)
            self._watches = Watches(self._endpoints)
        else:
            self.kv = transforming = TransformingKV(self._endpoints, transformer)
            self._watches = Watches(self._endpoints, transforming.events)
        self.leases = Leases(self._endpoints)
        self.maintenance = Maintenance(self._endpoints)
        self.range, self.prefix, self.get, self.revision = self.kv.range, self.kv.prefix, self.kv.get, self.kv.revision
        self.head, self.write, self.stream = self.kv.head, self.kv.write, self.kv.stream
        self.create, self.update, self.delete_if = self.kv.create, self.kv.update, self.kv.delete_if
        self.put, self.delete, self.txn, self.compact = self.kv.put, self.kv.delete, self.kv.txn, self.kv.compact
        self.watch = self._watches.watch
        self.status = self.maintenance.status
        self.compare = self._endpoints.compare

    @property
    def members(self) -> int:
        """The number of endpoints."""
        return self._endpoints.count

    async def close(self) -> None:
        """Ends watches and calls, which raise Unavailable, and disconnects."""
        self._watches.close()
        await self._endpoints.close()

    async def __aenter__(self) -> EtcdClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
