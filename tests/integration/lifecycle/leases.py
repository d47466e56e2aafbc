"""Servers whose leases are short, so that those who die are not waited for so long."""

from __future__ import annotations

DURATION = 4  # seconds
SHORT = {
    "gateway.controllers.election.DURATION": DURATION,
    "gateway.controllers.election.RENEW_DEADLINE": 3.0,
    "gateway.controllers.election.RENEW_EVERY": 1.0,
    "gateway.controllers.replicas.TTL": DURATION,
    "gateway.controllers.replicas.ROUND": 1.0,
}
