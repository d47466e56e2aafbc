"""CSIDrivers: the properties of a CSI driver that kubelet and controllers need."""

from __future__ import annotations

from dataclasses import replace

from gateway.jsontypes import JsonObject
from gateway.kinds.strategies.status import bump_generation
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.release.gates import Enabled
from gateway.validation.checks import immutable, known, same
from gateway.validation.field import FieldError, duplicate, invalid, not_supported, required

GROUP_POLICIES = ("File", "None", "ReadWriteOnceWithFSType")
LIFECYCLES = ("Persistent", "Ephemeral")
MIN_EXPIRATION, MAX_EXPIRATION, MIN_PERIOD = 600, 1 << 32, 10
_TOKENS = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible "
    "logging of tokens in volume attributes"
)


def _token_requests(requests: list[JsonObject], path: str) -> list[FieldError]:
    found, audiences = list[FieldError](), set[str]()
    for i, request in enumerate(requests):
        audience, seconds = request.get("audience", ""), request.get("expirationSeconds")
        at = f"{path}[{i}].expirationSeconds"
        if audience in audiences:
            found.append(duplicate(f"{path}[{i}].audience", audience))
            continue
        audiences.add(audience)
        if seconds is not None and seconds < MIN_EXPIRATION:
            found.append(invalid(at, seconds, "may not specify a duration less than 10 minutes"))
        if seconds is not None and seconds > MAX_EXPIRATION:
            found.append(invalid(at, seconds, "may not specify a duration larger than 2^32 seconds"))
    return found


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    spec, found = obj.get("spec", {}), list[FieldError]()
    for key, name in (("attachRequired", "attachedRequired"), ("podInfoOnMount",) * 2, ("storageCapacity",) * 2):
        if key not in spec:
            found.append(required(f"spec.{name}"))
    if (policy := spec.get("fsGroupPolicy")) is not None:
        found += known("spec.fsGroupPolicy", policy, GROUP_POLICIES)
    requests = spec.get("tokenRequests") or []
    found += _token_requests(requests, "spec.tokenRequests")
    modes = spec.get("volumeLifecycleModes") or ()
    found += [not_supported("spec.volumeLifecycleModes", mode, LIFECYCLES) for mode in modes if mode not in LIFECYCLES]
    if "seLinuxMount" not in spec:
        found.append(required("spec.seLinuxMount"))
    period, secrets = spec.get("nodeAllocatableUpdatePeriodSeconds"), spec.get("serviceAccountTokenInSecrets")
    if period is not None and period < MIN_PERIOD:
        message = "must be greater than or equal to 10 seconds"
        found.append(invalid("spec.nodeAllocatableUpdatePeriodSeconds", period, message))
    if secrets is not None and not requests:
        message = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
        found.append(invalid("spec.serviceAccountTokenInSecrets", secrets, message))
    return found


def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    spec, before = obj.get("spec", {}), old.get("spec", {})
    found = _validate(obj, context)
    found += immutable("spec.attachedRequired", spec.get("attachRequired"), before.get("attachRequired"))
    key = "volumeLifecycleModes"
    return found + immutable(f"spec.{key}", spec.get(key), before.get(key))


def _prepare_for_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> None:
    if not same(obj.get("spec"), old.get("spec")):
        bump_generation(obj, old)


def _warnings(obj: JsonObject, context: WriteContext) -> list[str]:
    spec = obj.get("spec", {})
    return [_TOKENS] if spec.get("tokenRequests") and "serviceAccountTokenInSecrets" not in spec else []


def _update_warnings(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[str]:
    unchanged = same(obj.get("spec", {}).get("tokenRequests"), old.get("spec", {}).get("tokenRequests"))
    return [] if unchanged else _warnings(obj, context)


def strategies(enabled: Enabled) -> dict[str, Strategy]:
    """The strategy. With the gate CSIServiceAccountTokenSecrets, a driver whose tokens may be logged gets a warning."""
    warns = enabled("CSIServiceAccountTokenSecrets")
    rules = Strategy(
        prepare_for_update=_prepare_for_update,
        validate=_validate,
        validate_update=_validate_update,
        allow_unconditional_update=False,
        returns_deleted=True,
    )
    if warns:
        rules = replace(rules, warnings_on_create=_warnings, warnings_on_update=_update_warnings)
    return {"": rules}
