"""Makes a call in a child process while this one goes on. Two threads would share the GIL."""

from __future__ import annotations

import os
import pickle
import select
import signal
from collections.abc import Callable, Iterable
from typing import Generic, Self, TypeVar

Made = TypeVar("Made")


class ForkedCall(Generic[Made]):
    """Begins a call in a child process. To be made before there are threads. `result` waits for the end of the call.

    The result, or the exception, is pickled. The child closes the descriptors in `without`, so that it does not keep
    them open. As a context manager, it kills the child at the end of the block.
    """

    def __init__(self, call: Callable[[], Made], without: Iterable[int] = ()) -> None:
        self._end, ours = os.pipe()
        self._pid = os.fork()
        if self._pid:
            os.close(ours)
            return
        status = 1
        try:
            for descriptor in (*without, self._end):
                os.close(descriptor)
            with open(ours, "wb") as answer:  # noqa: PTH123  # a descriptor
                answer.write(pickle.dumps(_outcome(call)))
            status = 0
        finally:
            os._exit(status)

    def wait(self, seconds: float) -> bool:
        """Waits for at most so many seconds; whether the call is over then."""
        return bool(select.select([self._end], [], [], seconds)[0])

    def result(self) -> Made:
        """The result of the call; raises the call's exception, or ChildProcessError if the child was killed. To be
        called once.
        """
        with open(self._end, "rb") as answer:  # noqa: PTH123  # a descriptor
            said = answer.read()
        status = self._ended()
        if not said:
            raise ChildProcessError(f"a process ended with status {os.waitstatus_to_exitcode(status)}")
        made, error = pickle.loads(said)
        if error is not None:
            raise error
        return made  # type: ignore[no-any-return]  # pickled by our own child

    def _ended(self) -> int:
        pid, self._pid = self._pid, 0
        return os.waitpid(pid, 0)[1]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pid:
            os.kill(self._pid, signal.SIGKILL)
            self._ended()
            os.close(self._end)


def _outcome(call: Callable[[], Made]) -> tuple[Made | None, Exception | None]:
    try:
        return call(), None
    except Exception as error:
        return None, error
