"""Defaults of flow schemas and priority levels.

Source: Kubernetes API reference, FlowSchemaSpec, LimitedPriorityLevelConfiguration, QueuingConfiguration.
"""

from __future__ import annotations

from gateway.defaults.registry import Defaulters
from gateway.defaults.table import compile_table

_GROUP = "flowcontrol.apiserver.k8s.io/v1"

DEFAULTERS: Defaulters = {
    (_GROUP, "FlowSchema"): compile_table({"spec+.matchingPrecedence": 1000}),
    (_GROUP, "PriorityLevelConfiguration"): compile_table(
        {
            "spec.limited.nominalConcurrencyShares?": 30,
            "spec.limited.lendablePercent?": 0,
            "spec.limited.limitResponse.queuing.handSize": 8,
            "spec.limited.limitResponse.queuing.queues": 64,
            "spec.limited.limitResponse.queuing.queueLengthLimit": 50,
            "spec.exempt.nominalConcurrencyShares?": 0,
            "spec.exempt.lendablePercent?": 0,
        }
    ),
}
