"""ValidatingWebhookConfigurations: a change of a webhook increments the generation."""

from __future__ import annotations

from gateway.kinds.strategies.admission_objects import webhooks_strategy
from gateway.kinds.strategy import Strategy
from gateway.release.gates import Enabled


def strategies(enabled: Enabled) -> dict[str, Strategy]:
    """The strategy; expressions may use the CEL functions of the release."""
    return {"": webhooks_strategy(enabled)}
