"""A call in a child process has the same result as here. The child ends with its caller."""

from __future__ import annotations

import os
import select
import signal
from pathlib import Path

import pytest

from gateway.launch.forked_call import ForkedCall


def test_what_it_returns_and_raises_comes_out() -> None:
    assert ForkedCall(lambda: (os.getppid(), "made")).result() == (os.getpid(), "made")

    def refuse() -> None:
        raise FileNotFoundError(2, "No such file", "/no/such")

    with pytest.raises(FileNotFoundError) as caught:
        ForkedCall(refuse).result()
    assert caught.value.filename == "/no/such"


def test_one_that_is_killed_says_so() -> None:
    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(ChildProcessError, match="status -9"):
        ForkedCall(die).result()


def test_it_holds_no_descriptor_that_it_is_not_to_hold_and_ends_with_the_block() -> None:
    watched, held = os.pipe()
    never, _ = os.pipe()
    with ForkedCall(lambda: os.read(never, 1), without=(held,)) as call:
        os.close(held)
        assert select.select([watched], [], [], 60)[0], "the child holds the pipe"
        assert not call.wait(0)
        child = int(Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()[-1])
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)
