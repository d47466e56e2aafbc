"""The gateway's parts, wired: what is given to every verb."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gateway.access.authentication import Authenticator
from gateway.access.authorization import Authorizer
from gateway.config import Settings
from gateway.http.routing import ResourceKey
from gateway.resources.resource import Resource

if TYPE_CHECKING:
    from storage.store import Store


@dataclass(slots=True)
class Gateway:
    """One server process. `stopping` is set when it begins to shut down: watches await it and end."""

    settings: Settings
    resources: Mapping[ResourceKey, Resource]
    authenticator: Authenticator
    authorizer: Authorizer
    store: Store
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
