"""PriorityLevelConfigurations: generation and status."""

from __future__ import annotations

from gateway.kinds.strategies.flow_control import flow_control
from gateway.validation.flow_control import validate_priority_level

STRATEGIES = flow_control(validate_priority_level)
