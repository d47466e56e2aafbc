"""Services, their node ports and load balancers ("Resource Quotas", "Quota on object count")."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.quotas.amounts import ONE, ZERO, Amounts
from gateway.quotas.evaluator import Classes, Evaluator
from gateway.quotas.evaluators.counts import is_create_or_update
from gateway.schema.quantity import Quantity

COUNT, SERVICES, NODE_PORTS, LOAD_BALANCERS = (
    "count/services",
    "services",
    "services.nodeports",
    "services.loadbalancers",
)


def usage(service: JsonObject, classes: Classes) -> Amounts:
    """What a service uses. Node ports that it will get count before they are allocated."""
    spec = service.get("spec") or {}
    ports = spec.get("ports") or ()
    node_ports, load_balancers = 0, ZERO
    match spec.get("type"):
        case "NodePort":
            node_ports = len(ports)
        case "LoadBalancer":
            load_balancers = ONE
            if spec.get("allocateLoadBalancerNodePorts") is False:
                node_ports = sum(bool(port.get("nodePort")) for port in ports)
            else:
                node_ports = len(ports)
    return {COUNT: ONE, SERVICES: ONE, NODE_PORTS: Quantity(node_ports), LOAD_BALANCERS: load_balancers}


EVALUATOR = Evaluator(
    "",
    "services",
    frozenset({COUNT, SERVICES, NODE_PORTS, LOAD_BALANCERS}),
    usage,
    is_create_or_update,
)
