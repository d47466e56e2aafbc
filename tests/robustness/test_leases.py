"""Objects that go by themselves can be written whatever became of the leases that they were to be written under."""

from __future__ import annotations

import time
from pathlib import Path

from apiserver_gateway.testing import api_server
from tests.integration.server.client import ask
from tests.robustness.members import Member

PATIENCE = 60.0


# of another name each time: one that was not answered may have been made
EVENT = {
    "metadata": {"generateName": "e"},
    "involvedObject": {"kind": "Pod", "namespace": "default", "name": "p"},
    "reason": "r",
    "type": "Normal",
}


def test_a_lease_that_a_restore_has_lost_is_replaced(member: Member, tmp_path: Path) -> None:
    """It was granted after the backup; events go on to be written, and none is answered 500."""
    events = "/api/v1/namespaces/default/events"
    with api_server("--controllers=-*", etcd_servers=member.endpoint) as server:
        member.save(tmp_path / "backup")
        deadline = time.monotonic() + PATIENCE
        while ask(server, "POST", events, EVENT).status != 201:
            assert time.monotonic() < deadline
        assert ask(server, "POST", events, EVENT).status == 201
        member.restore(tmp_path / "backup")
        deadline = time.monotonic() + PATIENCE
        while (answer := ask(server, "POST", events, EVENT)).status != 201:
            assert answer.status in (503, 504), answer
            assert time.monotonic() < deadline
        assert ask(server, "POST", events, EVENT).status == 201
