"""The parts of a server process that endpoints work with."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING

from gateway.access.authentication import Authenticator
from gateway.access.authorization import Masters
from gateway.access.following import Following
from gateway.access.legacy_uses import LegacyUses
from gateway.access.rbac.policy import Policy
from gateway.admission.chain import Parts
from gateway.encodings.rendering_budget import Renderings
from gateway.endpoints.foreign import Foreign
from gateway.endpoints.hooks import MakeHooks, no_hooks
from gateway.flowcontrol.limiting import Limiter
from gateway.flowcontrol.watches import OpenWatches
from gateway.http.negotiation import STANDARD, Negotiator
from gateway.outbound.client import Client
from gateway.outbound.identity import ClientIdentity
from gateway.settings.config import Settings
from gateway.webhooks.client import Webhooks
from storage.catching_up import Pasts
from storage.checking import Checker
from storage.etcd import EtcdClient
from storage.feed import Feed
from storage.store import EtcdStore

if TYPE_CHECKING:
    from gateway.audit.auditing import Audit
    from gateway.encryption.encryption import Encryption


@dataclass(slots=True)
class Services:
    """Shared by all endpoints. `outbound` makes calls of other servers, those of kubelets as `kubelets`
    says; `following` reads files anew that change.
    `draining` is set when the process is told to stop, `stopping` when it begins to shut down, which is at `ends_at` of
    the monotonic clock: watches end until then.
    """

    settings: Settings
    authenticator: Authenticator
    authorizer: Masters
    policy: Policy
    client: EtcdClient
    feed: Feed
    store: EtcdStore
    admission: Parts
    checker: Checker
    limiter: Limiter
    watches: OpenWatches
    pasts: Pasts
    outbound: Client
    webhooks: Webhooks
    kubelets: ClientIdentity
    following: Following = field(default_factory=Following)
    legacy_uses: LegacyUses = field(default_factory=LegacyUses)
    media: Negotiator = STANDARD
    draining: asyncio.Event = field(default_factory=asyncio.Event)
    ends_at: float = inf
    turning_away: bool = False  # whether new requests are to go elsewhere
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    renderings: Renderings = field(default_factory=Renderings)
    hooks: MakeHooks = no_hooks
    encryption: Encryption | None = None  # of objects in etcd, where it is configured
    audit: Audit | None = None  # where a policy asks for it
    foreign: Foreign | None = None  # what other servers have, once that is followed
