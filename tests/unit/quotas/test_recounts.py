"""How long a write waits for a recount of freed usage."""

from __future__ import annotations

from gateway.controllers import resource_quotas
from gateway.quotas import recounts


def test_a_recount_that_is_put_off_comes_while_it_is_waited_for() -> None:
    """The objects are in another etcd than the quotas."""
    assert recounts.APART >= resource_quotas.MOST + 0.5
