"""Objects with a time to live can be written even if etcd has lost the leases for them."""

from __future__ import annotations

import time
from pathlib import Path

from apiserver_gateway.testing import api_server
from tests.integration.server.client import ask
from tests.robustness.members import Member

PATIENCE = 60.0


# another name each time: a create without an answer may have been stored
EVENT = {
    "metadata": {"generateName": "e"},
    "involvedObject": {"kind": "Pod", "namespace": "default", "name": "p"},
    "reason": "r",
    "type": "Normal",
}


def test_a_lease_that_a_restore_has_lost_is_replaced(member: Member, tmp_path: Path) -> None:
    """The lease was granted after the backup. Events can still be written, and no write is answered 500."""
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
