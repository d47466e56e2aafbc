"""ResourceClaims: how many devices of a class they may be given ("Dynamic Resource Allocation", KEP-4381, KEP-5004)."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.quotas.amounts import ONE, Amounts, plus
from gateway.quotas.evaluator import Classes, Evaluator
from gateway.quotas.evaluators.counts import is_create_or_update
from gateway.quotas.evaluators.pods import DEVICE_CLASS, is_extended_for_quota
from gateway.schema.quantity import Quantity
from gateway.validation.resource_names import REQUESTS

COUNT = "count/resourceclaims.resource.k8s.io"
DEVICES = ".deviceclass.resource.k8s.io/devices"
IMPLICIT = REQUESTS + DEVICE_CLASS
MOST_DEVICES = 32  # of a request with the allocationMode All


def usage(claim: JsonObject, classes: Classes) -> Amounts:
    """The devices that a claim may be given, at most. Those for which its pod is charged already do not count twice."""
    used: dict[str, Quantity] = {COUNT: ONE}
    for request in ((claim.get("spec") or {}).get("devices") or {}).get("requests") or ():
        if alternatives := request.get("firstAvailable"):
            most: dict[str, int] = {}
            for each in alternatives:
                name = f"{each.get('deviceClassName', '')}{DEVICES}"
                most[name] = max(most.get(name, 0), _devices(each))
            used = plus(used, {name: Quantity(count) for name, count in most.items() if count})
        elif (exactly := request.get("exactly")) is not None:
            used = plus(used, {f"{exactly.get('deviceClassName', '')}{DEVICES}": Quantity(_devices(exactly))})
    return used | _as_extended(used, claim, classes)


def _devices(request: JsonObject) -> int:
    match request.get("allocationMode"):
        case "ExactCount":
            return int(request.get("count") or 0)
        case "All":
            return MOST_DEVICES
    return 0


def _as_extended(used: Amounts, claim: JsonObject, classes: Classes) -> dict[str, Quantity]:
    """The same devices by the names of extended resources, minus the usage of the pod for which the claim was made."""
    extended: dict[str, Quantity] = {}
    for name, amount in used.items():
        device_class = name.removesuffix(DEVICES)
        if device_class == name or not device_class:
            continue
        extended[IMPLICIT + device_class] = amount
        if resource := classes.extended_resource(device_class):
            extended[REQUESTS + resource] = amount
    if not extended:
        return {}
    of_pod = classes.owner_usage(claim)
    left = {name: amount - of_pod[name] if name in of_pod else amount for name, amount in extended.items()}
    return {name: amount for name, amount in left.items() if amount.unscaled > 0}


def _matches(name: str, classes: Classes) -> bool:
    if name.endswith(DEVICES):
        return True
    if name.startswith(IMPLICIT) and classes.extended_resource(name.removeprefix(IMPLICIT)):
        return True
    return is_extended_for_quota(name) and classes.has_class_of(name.removeprefix(REQUESTS))


EVALUATOR = Evaluator(
    "resource.k8s.io",
    "resourceclaims",
    frozenset({COUNT}),
    usage,
    is_create_or_update,
    more_names=_matches,
    follows_others=True,
)
