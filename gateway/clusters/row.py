"""A control plane as one process knows it: the definition, and the parts in memory."""

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
"""The fence of a control plane's writes, and its seeds (the objects that it began with)."""


@dataclass(slots=True, eq=False)
class ClusterRow:
    """One control plane. `described` is its definition, `awake` its parts in memory, None at rest.

    `waking` is the task that loads the control plane. `ending` is the last task that unloaded it. `credentials` are
    those that `awake` was made with. `door` authenticates requests at rest, with credentials of its own; `opening` is
    the task that makes the door. `begun` has the fence, the seeds, and the time (monotonic clock) when they were read.
    The door's request often loads the control plane next, and then uses `begun`.
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
    restores: int = 0  # restores of all its objects since this process first saw it
    requests: int = 0  # requests so far


@contextmanager
def loadable(row: ClusterRow) -> Iterator[None]:
    """Raises StatusError 503 for a control plane whose settings or credentials are invalid."""
    try:
        yield
    except (OSError, ValueError, TypeError) as error:
        logger.exception("a control plane could not be loaded", extra={"cluster": row.described.name})
        raise StatusError(503, "ServiceUnavailable", "the control plane cannot be loaded") from error
