"""A task group whose cancellation leaves no reference cycle, and whose parent is not cancelled once it has ended.

The garbage collector never looks at what was in use at an earlier collection (gateway/memory.py). So a cycle that a
cancelled task leaves would keep all objects in memory that the task refers to, such as the caches of a control plane,
for ever.
"""

from __future__ import annotations

import asyncio
import sys
from types import TracebackType
from typing import Any


class TaskGroup(asyncio.TaskGroup):
    """As asyncio's. Before Python 3.13, the frame of `__aexit__` there refers to the error that its traceback is of. If
    a task fails while the parent waits in `__aexit__`, the parent's count of cancellations stays 1 there.
    """

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        members: Any = self  # of asyncio's
        parent, before = members._parent_task, members._parent_cancel_requested
        try:
            await super().__aexit__(kind, error, trace)
        except asyncio.CancelledError as cancelled:
            cancelled.__traceback__ = None  # no caller needs to know where a task was cancelled
            raise
        finally:
            if sys.version_info < (3, 13) and parent is not None and members._parent_cancel_requested > before:
                parent.uncancel()
            members._parent_task = None  # which has the error
            del error, trace, parent, members
