"""The metrics about the server's process."""

from __future__ import annotations

import os
import time

from gateway.observability.process import began

TICK = 2.0  # seconds: the kernel tells when it started as a whole number


def test_a_forked_process_says_when_it_was_forked() -> None:
    """Its parent, the template of servers, may have started long before."""
    reads, writes = os.pipe()
    before = time.time()
    child = os.fork()
    if not child:
        os.write(writes, str(began()).encode())
        os._exit(0)
    os.waitpid(child, 0)
    said = float(os.read(reads, 100))
    os.close(reads)
    os.close(writes)
    assert before - TICK < said < time.time() + TICK
    assert began() <= said
