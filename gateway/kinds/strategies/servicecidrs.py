"""ServiceCIDRs: at most one CIDR for each IP family (KEP-1880)."""

from __future__ import annotations

from dataclasses import replace

from gateway.jsontypes import JsonObject
from gateway.kinds.strategies.status import empty_status, keep_spec_and_metadata, keep_status
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.release.gates import Enabled
from gateway.validation.addresses import parse_cidr, validate_cidr
from gateway.validation.field import FieldError, Verbatim, go_value, invalid, required
from gateway.validation.objectmeta import IMMUTABLE

_ONE_OF_EACH = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"


def _validate_cidrs(cidrs: list[str]) -> list[FieldError]:
    if not cidrs:
        return [required("spec.cidrs", "at least one CIDR required")]
    if len(cidrs) > 2:
        shown = Verbatim(f'{{"CIDRs":{go_value(cidrs)}}}')
        return [invalid("spec.cidrs", shown, "may only hold up to 2 values")]
    found = [error for i, cidr in enumerate(cidrs) for error in validate_cidr(f"spec.cidrs[{i}]", cidr)]
    versions = [parsed[0].version for parsed in map(parse_cidr, cidrs) if parsed is not None]
    if len(versions) == 2 and versions[0] == versions[1]:
        found.append(invalid("spec.cidrs", cidrs, _ONE_OF_EACH))
    return found


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    return _validate_cidrs(obj.get("spec", {}).get("cidrs") or [])


def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    new: list[str] = obj.get("spec", {}).get("cidrs") or []
    before: list[str] = old.get("spec", {}).get("cidrs") or []
    changed = [i for i, (a, b) in enumerate(zip(new, before, strict=False)) if a != b]
    found = [invalid(f"spec.cidrs[{i}]", new[i], IMMUTABLE) for i in changed]
    if len(new) == len(before):
        return found
    if (len(before), len(new)) == (1, 2):
        return found + _validate_cidrs(new)
    return [invalid("spec.cidrs", obj.get("spec", {}).get("cidrs"), IMMUTABLE)]


def strategies(enabled: Enabled) -> dict[str, Strategy]:
    """The strategies. Without ServiceCIDRStatusFieldWiping, a write of the resource itself may set the status."""
    wiped = enabled("ServiceCIDRStatusFieldWiping")
    own = Strategy(validate=_validate, validate_update=_validate_update)
    status = Strategy(prepare_for_update=keep_spec_and_metadata)
    if not wiped:
        return {"": replace(own, prepare_for_create=_with_status), "status": status}
    return {
        "": replace(
            own, prepare_for_create=empty_status({}), prepare_for_update=keep_status, reset_fields=(("status",),)
        ),
        "status": replace(status, reset_fields=(("metadata",), ("spec",))),
    }


def _with_status(obj: JsonObject, context: WriteContext) -> None:
    obj.setdefault("status", {})
