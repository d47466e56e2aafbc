"""Servers with short leases, so that tests do not wait long after a server's end."""

from __future__ import annotations

DURATION = 4  # seconds
SHORT = {
    "gateway.controllers.election.DURATION": DURATION,
    "gateway.controllers.election.RENEW_DEADLINE": 3.0,
    "gateway.controllers.election.RENEW_EVERY": 1.0,
    "gateway.controllers.replicas.TTL": DURATION,
    "gateway.controllers.replicas.ROUND": 1.0,
}
