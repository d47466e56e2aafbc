"""The constraints of a LimitRange on what is requested and limited: minimum, maximum, ratio of the two."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from gateway.schema.quantity import Quantity, parse_quantity

Quantities = Mapping[str, Quantity]
MAX_MILLI_VALUE = ((1 << 63) - 1) // 1000
"""The largest whole number whose thousandths fit in 64 bits. Larger quantities are compared in whole units."""

NOTHING = Quantity(0)


@dataclass(frozen=True, slots=True)
class RequestedResources:
    """What a container, a pod or a claim requests, and what it is limited to."""

    requests: Quantities
    limits: Quantities


def quantities(texts: Mapping[str, str] | None) -> dict[str, Quantity]:
    """The quantities of a resource list as JSON has it."""
    return {name: parse_quantity(text) for name, text in texts.items()} if texts else {}


def minimum(kind: str, name: str, enforced: Quantity, usage: RequestedResources) -> str:
    """The message if a request or limit is below the minimum, or there is no request; else ""."""
    request, limit = usage.requests.get(name), usage.limits.get(name)
    about = f"minimum {name} usage per {kind} is {enforced}"
    if request is None:
        return f"{about}.  No request is specified"
    requested, limited, least = _comparable(request, limit or NOTHING, enforced)
    if requested < least:
        return f"{about}, but request is {request}"
    if limit is not None and limited < least:
        return f"{about}, but limit is {limit}"
    return ""


def maximum(kind: str, name: str, enforced: Quantity, usage: RequestedResources) -> str:
    """The message if a limit or request is above the maximum, or there is no limit; else ""."""
    request, limit = usage.requests.get(name), usage.limits.get(name)
    about = f"maximum {name} usage per {kind} is {enforced}"
    if limit is None:
        return f"{about}.  No limit is specified"
    requested, limited, most = _comparable(request or NOTHING, limit, enforced)
    if limited > most:
        return f"{about}, but limit is {limit}"
    if request is not None and requested > most:
        return f"{about}, but request is {request}"
    return ""


def maximum_request(kind: str, name: str, enforced: Quantity, usage: RequestedResources) -> str:
    """As `maximum` for objects without limits, such as claims: the message if the request is too large or missing."""
    request = usage.requests.get(name)
    about = f"maximum {name} usage per {kind} is {enforced}"
    if request is None:
        return f"{about}.  No request is specified"
    requested, _, most = _comparable(request, NOTHING, enforced)
    return f"{about}, but request is {request}" if requested > most else ""


def ratio(kind: str, name: str, enforced: Quantity, usage: RequestedResources) -> str:
    """The message if limit divided by request is above the maximum, or one of them is missing or 0; else ""."""
    request, limit = usage.requests.get(name), usage.limits.get(name)
    about = f"{name} max limit to request ratio per {kind} is {enforced}"
    requested, limited, _ = _comparable(request or NOTHING, limit or NOTHING, enforced)
    if not requested:
        return f"{about}, but no request is specified or request is 0"
    if not limited:
        return f"{about}, but no limit is specified or limit is 0"
    found = limited / requested
    fine = enforced.value <= MAX_MILLI_VALUE
    exceeded = found * 1000 > enforced.milli_value if fine else found > enforced.value
    return f"{about}, but provided ratio is {found:f}" if exceeded else ""


def _comparable(request: Quantity, limit: Quantity, enforced: Quantity) -> tuple[int, int, int]:
    """The three in thousandths, or in whole units where one of them is large."""
    if max(request.value, limit.value, enforced.value) <= MAX_MILLI_VALUE:
        return request.milli_value, limit.milli_value, enforced.milli_value
    return request.value, limit.value, enforced.value


Constraint = Callable[[str, str, Quantity, RequestedResources], str]
OF_PODS: tuple[tuple[str, Constraint], ...] = (("min", minimum), ("max", maximum), ("maxLimitRequestRatio", ratio))
OF_CLAIMS: tuple[tuple[str, Constraint], ...] = (("min", minimum), ("max", maximum_request))


def violations(
    limit: Mapping[str, Mapping[str, str]],
    constraints: tuple[tuple[str, Constraint], ...],
    kind: str,
    usage: RequestedResources,
    kept: Collection[str] = (),
) -> Iterator[str]:
    """Yields a message for each constraint of one LimitRange item that a usage violates.

    Resources come in the order of their names; those in `kept` are not checked. `kind` is the name in messages.
    """
    for member, constraint in constraints:
        for name, text in sorted((limit.get(member) or {}).items()):
            if name in kept:
                continue
            problem = constraint(kind, name, parse_quantity(text), usage)
            if problem:
                yield problem
