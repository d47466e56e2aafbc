"""The parts of a server process that endpoints work with."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING

from gateway.access.authentication import Authenticator
from gateway.access.authorization import Masters
from gateway.access.following import Following
from gateway.access.legacy_uses import LegacyUses
from gateway.access.rbac.policy import RbacPolicy
from gateway.admission.chain import PluginParts
from gateway.encodings.rendering_budget import Renderings
from gateway.endpoints.foreign import Foreign, ForeignObjects
from gateway.flowcontrol.limiting import Limiter
from gateway.flowcontrol.watches import OpenWatches
from gateway.http.alarms import Alarms
from gateway.http.negotiation import STANDARD, Negotiator
from gateway.outbound.client import Client
from gateway.outbound.identity import ClientIdentity
from gateway.settings.config import Settings
from gateway.webhooks.client import Webhooks
from storage.checking import Checker
from storage.database import Database
from storage.etcd import EtcdClient
from storage.feed import Feed
from storage.store import EtcdStore, Stores

if TYPE_CHECKING:
    from gateway.audit.auditing import Audit
    from gateway.encryption.encryption import Encryption
    from gateway.tracing.tracer import Tracer


@dataclass(slots=True)
class Services:
    """Shared by all endpoints. `database` is the etcd of all resources but those of which `apart` says, by storage
    prefix, where they are kept; `stores` finds the store of a key. `outbound` makes calls of other servers, those of
    kubelets as `kubelets` says; `foreign` and `foreign_objects` know what extension servers have; `following` reads
    files anew that change. `draining` is set when the process is told to stop, `stopping` when it begins to shut down,
    which is at `ends_at` of the monotonic clock: watches end until then.
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
    turning_away: bool = False  # whether new requests are to go elsewhere
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    alarms: Alarms = field(default_factory=Alarms)  # of watches that wait
    renderings: Renderings = field(default_factory=Renderings)
    encryption: Encryption | None = None  # of objects in etcd, where it is configured
    audit: Audit | None = None  # where a policy asks for it
    tracer: Tracer | None = None  # where traces are configured

    @property
    def databases(self) -> tuple[Database, ...]:
        """Each etcd once, that of most resources first."""
        return (self.database, *dict.fromkeys(self.apart.values()))

    @property
    def client(self) -> EtcdClient:
        """The connection to the etcd of most resources."""
        return self.database.client

    @property
    def feed(self) -> Feed:
        """What keeps its cache up to date."""
        return self.database.feed

    @property
    def store(self) -> EtcdStore:
        """Reads and writes of what is kept there."""
        return self.database.store

    @property
    def checker(self) -> Checker:
        """What compares it with its cache."""
        return self.database.checker
