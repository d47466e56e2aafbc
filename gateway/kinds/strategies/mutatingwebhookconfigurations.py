"""MutatingWebhookConfigurations: every change of a webhook counts."""

from __future__ import annotations

from gateway.kinds.strategies.admission_objects import admission_strategy, compiling
from gateway.validation.webhooks import validate_webhooks

STRATEGIES = {"": admission_strategy(compiling(validate_webhooks), ("webhooks",))}
