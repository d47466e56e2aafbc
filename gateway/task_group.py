"""A task group whose cancellation leaves no reference cycle.

The garbage collector never looks at what was in use at an earlier collection (gateway/memory.py). So a cycle that a
cancelled task leaves would keep all that the task knew, such as the caches of a control plane, for ever.
"""

from __future__ import annotations

import asyncio
from types import TracebackType


class TaskGroup(asyncio.TaskGroup):
    """As asyncio's. Before Python 3.13, the frame of `__aexit__` there refers to the error that its traceback is of."""

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await super().__aexit__(kind, error, trace)
        except asyncio.CancelledError as cancelled:
            cancelled.__traceback__ = None  # nobody asks where a task was cancelled
            raise
        finally:
            self._parent_task = None  # which has the error
            del error, trace
