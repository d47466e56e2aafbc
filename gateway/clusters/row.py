"""A control plane of a process: as it is described, and what is in memory of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from gateway.clusters.awake import Awake
from gateway.clusters.definition import ClusterDefinition
from gateway.clusters.door import Door
from gateway.http.status import StatusError
from gateway.settings.control_planes import ClusterCredentials
from storage.fence import Fence
from storage.seeded.seeds import Seeds

logger = logging.getLogger(__name__)

Beginning = tuple[Fence | None, Seeds | None]
"""The fence of a control plane's writes, and what it begins with."""


@dataclass(slots=True, eq=False)
class ClusterRow:
    """One control plane: as it is described, and in memory if it is awake. `waking` is the task that loads it, `ending`
    the last one that put it to rest. What is awake was made with these `credentials`. `door` checks requests while it
    rests, and has its own; `opening` is the task that makes it. `begun` has the time (monotonic clock) when the
    fence and the seeds were read, and both: a request that makes the door often wakes the control plane next.
    """

    described: ClusterDefinition
    awake: Awake | None = None
    waking: asyncio.Task[Awake] | None = field(default=None, repr=False)
    ending: asyncio.Task[None] | None = field(default=None, repr=False)
    credentials: ClusterCredentials | None = field(default=None, repr=False)
    door: Door | None = field(default=None, repr=False)
    opening: asyncio.Task[Door] | None = field(default=None, repr=False)
    begun: tuple[float, Beginning] | None = field(default=None, repr=False)
    gone: bool = False
    restores: int = 0  # so many have exchanged its objects since this process knows it
    requests: int = 0  # so many have come


@contextmanager
def loadable(row: ClusterRow) -> Iterator[None]:
    """Raises StatusError 503 for a control plane whose settings or credentials are of no use."""
    try:
        yield
    except (OSError, ValueError, TypeError) as error:
        logger.exception("a control plane could not be loaded", extra={"cluster": row.described.name})
        raise StatusError(503, "ServiceUnavailable", "the control plane cannot be loaded") from error
