"""NetworkPolicies: selectors, ports, address blocks (page "Network Policies")."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from gateway.jsontypes import JsonObject
from gateway.kinds.strategies.status import counting, first_generation
from gateway.kinds.strategy import Strategy, on_update
from gateway.kinds.write_context import WriteContext
from gateway.validation.addresses import cidr_warnings, parse_cidr, validate_cidr_legacy
from gateway.validation.checks import known, port_or_name
from gateway.validation.field import FieldError, forbidden, invalid, required, reworded
from gateway.validation.labels import validate_label_selector

PROTOCOLS = ("TCP", "UDP", "SCTP")
TYPES = ("Ingress", "Egress")


def _port(port: JsonObject, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    if (protocol := port.get("protocol")) is not None:
        found += known(f"{path}.protocol", protocol, PROTOCOLS)
    number, end = port.get("port"), port.get("endPort")
    if number is None:
        if end is not None:
            found.append(invalid(f"{path}.endPort", end, "may not be specified when `port` is not specified"))
    elif isinstance(number, str):
        if end is not None:
            found.append(invalid(f"{path}.endPort", end, "may not be specified when `port` is non-numeric"))
        found += port_or_name(f"{path}.port", number)
    else:
        found += port_or_name(f"{path}.port", number)
        if end is not None:
            if end < number:
                error = invalid(f"{path}.endPort", number, "must be greater than or equal to `port`")
                found.append(reworded("EndPortShown", error, partial(invalid, f"{path}.endPort", end, error.detail)))
            found += port_or_name(f"{path}.endPort", end)
    return found


def _peer(peer: JsonObject, path: str, any_value: bool, known_cidrs: tuple[str, ...]) -> list[FieldError]:
    found: list[FieldError] = []
    selectors = [key for key in ("podSelector", "namespaceSelector") if key in peer]
    for key in selectors:
        found += validate_label_selector(peer[key], f"{path}.{key}", allow_invalid_values=any_value)
    block = peer.get("ipBlock")
    if block is not None:
        found += _block(block, f"{path}.ipBlock", known_cidrs)
        if selectors:
            found.append(forbidden(path, "may not specify both ipBlock and another peer"))
    elif not selectors:
        found.append(required(path, "must specify a peer"))
    return found


def _block(block: JsonObject, path: str, known_cidrs: tuple[str, ...]) -> list[FieldError]:
    cidr = block.get("cidr", "")
    if not cidr:
        return [required(f"{path}.cidr")]
    found, whole = validate_cidr_legacy(f"{path}.cidr", cidr, known_cidrs), parse_cidr(cidr)
    if whole is None:
        return found
    for i, part in enumerate(block.get("except") or ()):
        found += validate_cidr_legacy(f"{path}.except[{i}]", part, known_cidrs)
        parsed = parse_cidr(part)
        if parsed is None:
            continue
        inside = parsed[1].version == whole[1].version and parsed[1].network_address in whole[1]
        if not inside or whole[1].prefixlen >= parsed[1].prefixlen:
            found.append(invalid(f"{path}.except[{i}]", part, "must be a strict subset of `cidr`"))
    return found


def _rules(spec: JsonObject) -> Iterator[tuple[JsonObject, str, str]]:
    for key, peers in (("ingress", "from"), ("egress", "to")):
        for i, rule in enumerate(spec.get(key) or ()):
            yield rule, f"spec.{key}[{i}]", peers


def _blocks(spec: JsonObject) -> Iterator[tuple[JsonObject, str]]:
    for rule, path, peers in _rules(spec):
        for i, peer in enumerate(rule.get(peers) or ()):
            if peer.get("ipBlock") is not None:
                yield peer["ipBlock"], f"{path}.{peers}[{i}].ipBlock"


def _validate_spec(spec: JsonObject, any_value: bool, known_cidrs: tuple[str, ...]) -> list[FieldError]:
    found = validate_label_selector(spec.get("podSelector"), "spec.podSelector", allow_invalid_values=any_value)
    for rule, path, peers in _rules(spec):
        for i, port in enumerate(rule.get("ports") or ()):
            found += _port(port, f"{path}.ports[{i}]")
        for i, peer in enumerate(rule.get(peers) or ()):
            found += _peer(peer, f"{path}.{peers}[{i}]", any_value, known_cidrs)
    types: list[str] = spec.get("policyTypes") or []
    if len(types) > len(TYPES):
        return [*found, invalid("spec.policyTypes", types, "may not specify more than two policyTypes")]
    return found + [error for i, kind in enumerate(types) for error in known(f"spec.policyTypes[{i}]", kind, TYPES)]


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    return _validate_spec(obj.get("spec", {}), False, ())


def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    before = old.get("spec", {})
    cidrs = [cidr for block, _ in _blocks(before) for cidr in (block.get("cidr", ""), *(block.get("except") or ()))]
    any_value = bool(validate_label_selector(before.get("podSelector"), ""))
    found = _validate_spec(obj.get("spec", {}), any_value, tuple(cidrs))
    return found if context.enabled("UpdatesJudgedOnce") else found + found


def _warnings(obj: JsonObject, context: WriteContext) -> Iterator[str]:
    for block, path in _blocks(obj.get("spec", {})):
        yield from cidr_warnings(f"{path}.cidr", block.get("cidr", ""))
        for i, part in enumerate(block.get("except") or ()):
            yield from cidr_warnings(f"{path}.except[{i}]", part)


STRATEGIES = {
    "": Strategy(
        prepare_for_create=first_generation,
        prepare_for_update=counting(status=False),
        validate=_validate,
        validate_update=_validate_update,
        warnings_on_create=_warnings,
        warnings_on_update=on_update(_warnings),
    )
}
