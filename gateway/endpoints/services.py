"""The parts of a server process that all endpoints share."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING

from gateway.access.authentication import Authenticator
from gateway.access.authorization import Masters
from gateway.access.file_reload import Following
from gateway.access.legacy_uses import LegacyUses
from gateway.access.rbac.policy import RbacPolicy
from gateway.admission.chain import PluginParts
from gateway.encodings.rendering_budget import Renderings
from gateway.endpoints.foreign import Foreign, ForeignObjects
from gateway.flowcontrol.limiter import Limiter
from gateway.flowcontrol.watches import OpenWatches
from gateway.http.alarms import Alarms
from gateway.http.negotiation import STANDARD, Negotiator
from gateway.outbound.client import Client
from gateway.outbound.identity import ClientIdentity
from gateway.settings.config import Settings
from gateway.webhooks.client import Webhooks
from storage.cache_check import Checker
from storage.database import Database
from storage.etcd import EtcdClient
from storage.feed import Feed
from storage.store import EtcdStore, Stores

if TYPE_CHECKING:
    from gateway.audit.audit import Audit
    from gateway.encryption.encryption import Encryption
    from gateway.quotas.room import Room
    from gateway.tracing.tracer import Tracer


@dataclass(slots=True)
class Services:
    """The parts that all endpoints share.

    `database` is the main etcd; `apart` has the etcds of other resources, by storage prefix; `stores` finds the store
    of a key. `outbound` calls other servers; `kubelets` is its identity for kubelets. `foreign` and `foreign_objects`
    are about the objects of extension API servers. `following` reloads files that change.

    The signal to stop sets `draining`. Open watches end after this signal and before `ends_at` (monotonic clock). At
    `ends_at` the server begins to shut down, and sets `stopping`.
    """

    settings: Settings
    authenticator: Authenticator
    authorizer: Masters
    policy: RbacPolicy
    database: Database
    stores: Stores
    admission: PluginParts
    limiter: Limiter
    watches: OpenWatches
    outbound: Client
    webhooks: Webhooks
    kubelets: ClientIdentity
    foreign: Foreign
    foreign_objects: ForeignObjects
    apart: Mapping[str, Database] = field(default_factory=dict)
    following: Following = field(default_factory=Following)
    legacy_uses: LegacyUses = field(default_factory=LegacyUses)
    media: Negotiator = STANDARD
    draining: asyncio.Event = field(default_factory=asyncio.Event)
    ends_at: float = inf
    turning_away: bool = False  # whether new requests get 429
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    alarms: Alarms = field(default_factory=Alarms)  # for resting watches
    renderings: Renderings = field(default_factory=Renderings)
    room: Room | None = None  # of a control plane: limits of its objects
    encryption: Encryption | None = None  # of objects in etcd; None if not configured
    audit: Audit | None = None  # None without an audit policy
    tracer: Tracer | None = None  # None if tracing is not configured

    @property
    def databases(self) -> tuple[Database, ...]:
        """Each etcd once, the main one first."""
        return (self.database, *dict.fromkeys(self.apart.values()))

    def shown_key(self, key: bytes, *, prefixed: bool = True) -> str:
        """A key of etcd as messages show it; some show it without the prefix of all keys."""
        settings = self.settings
        below = key.decode(errors="replace").removeprefix(settings.etcd_prefix)
        return f"{settings.shown_prefix or settings.etcd_prefix}{below}" if prefixed else below

    @property
    def client(self) -> EtcdClient:
        """The client of the main etcd."""
        return self.database.client

    @property
    def feed(self) -> Feed:
        """The feed that keeps the main etcd's watch cache up to date."""
        return self.database.feed

    @property
    def store(self) -> EtcdStore:
        """The store of the main etcd."""
        return self.database.store

    @property
    def checker(self) -> Checker:
        """The checker that compares the main etcd with its watch cache."""
        return self.database.checker
