"""Which IP families a service has, and whether it has one or two (page "IPv4/IPv6 dual-stack").

The rules are those of kube-apiserver's service storage; they run before validation and complete the spec.
"""

from __future__ import annotations

from collections.abc import Sequence

from gateway.http.status import StatusError
from gateway.http.status import invalid as invalid_object
from gateway.jsontypes import JsonObject
from gateway.kinds.service_objects import family_of
from gateway.validation.field import FieldError, invalid
from gateway.validation.service_addresses import cluster_ips_errors

SINGLE, PREFER, REQUIRE = "SingleStack", "PreferDualStack", "RequireDualStack"
_WITH_ADDRESS = ("ClusterIP", "NodePort", "LoadBalancer")


def fill_families(service: JsonObject, old: JsonObject | None, families: Sequence[str]) -> None:
    """Sets ipFamilyPolicy and ipFamilies; `families` are the cluster's. Raises StatusError 422."""
    spec, before = service["spec"], None if old is None else old["spec"]
    if spec.get("type") == "ExternalName" or unchanged_preference(spec, before):
        return
    if spec.get("ipFamilyPolicy") is None:
        spec["ipFamilyPolicy"] = _default_policy(spec, before)
    _refuse(service, cluster_ips_errors(spec, before))
    errors = [] if before is None else _narrow(spec, before)
    errors += _single_but_two(spec)
    errors += _infer_families(spec, families)
    _refuse(service, errors)
    if _is_free(spec):
        _fill_headless(spec, families[0])
        return
    _refuse(service, _not_configured(spec, families))
    chosen = spec.get("ipFamilies") or [families[0]]
    if spec["ipFamilyPolicy"] != SINGLE and len(chosen) == 1 and len(families) == 2:
        chosen = [chosen[0], _other(chosen[0])]
    spec["ipFamilies"] = chosen


def unchanged_preference(spec: JsonObject, before: JsonObject | None) -> bool:
    """Whether an update of a PreferDualStack service leaves its families alone.

    It then keeps the families that it has, even if the cluster's families have changed.
    """
    if before is None or spec.get("ipFamilyPolicy") is None or before.get("type") != spec.get("type"):
        return False
    return (
        spec.get("type") in _WITH_ADDRESS
        and spec["ipFamilyPolicy"] == PREFER
        and before.get("ipFamilyPolicy", PREFER) == PREFER
        and (spec.get("clusterIPs") or []) == (before.get("clusterIPs") or [])
        and (spec.get("ipFamilies") or []) == (before.get("ipFamilies") or [])
    )


def _is_free(spec: JsonObject) -> bool:
    """Whether it is a headless service without a selector: its endpoints may have any family."""
    return spec.get("clusterIP") == "None" and not spec.get("selector")


def _default_policy(spec: JsonObject, before: JsonObject | None) -> str:
    if before is not None and before.get("ipFamilyPolicy"):
        return str(before["ipFamilyPolicy"])
    return REQUIRE if _is_free(spec) else SINGLE


def _narrow(spec: JsonObject, before: JsonObject) -> list[FieldError]:
    """Drops the secondary address and family under SingleStack; errors for an update that drops one without it."""
    errors = []
    for key, what in (("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")):
        now, then = spec.get(key) or [], before.get(key) or []
        if spec["ipFamilyPolicy"] == SINGLE:
            if now == then and len(now) > 1:
                spec[key] = now[:1]
        elif len(now) == 1 and len(then) == 2 and (now[0] == then[0] or key == "ipFamilies"):
            text = f"must be 'SingleStack' to release the secondary {what}"
            errors.append(invalid("spec.ipFamilyPolicy", spec["ipFamilyPolicy"], text))
    return errors


def _single_but_two(spec: JsonObject) -> list[FieldError]:
    if spec["ipFamilyPolicy"] != SINGLE:
        return []
    return [
        invalid(
            "spec.ipFamilyPolicy",
            SINGLE,
            f"must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified",
        )
        for key, what in (("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families"))
        if len(spec.get(key) or ()) == 2
    ]


def _infer_families(spec: JsonObject, families: Sequence[str]) -> list[FieldError]:
    errors = []
    addresses = spec.get("clusterIPs") or []
    for index, address in enumerate(addresses):
        if address == "None":
            break
        chosen = spec.get("ipFamilies") or []
        family = family_of(address)
        if index < len(chosen):
            continue
        if family not in families:
            text = f"{family} is not configured on this cluster"
            errors.append(invalid(f"spec.clusterIPs[{index}]", addresses, text))
        else:
            spec["ipFamilies"] = [*chosen, family]
    return errors


def _fill_headless(spec: JsonObject, primary: str) -> None:
    chosen = spec.get("ipFamilies") or [primary]
    if len(chosen) < 2 and spec["ipFamilyPolicy"] != SINGLE:
        chosen = [chosen[0], _other(chosen[0])]
    spec["ipFamilies"] = chosen


def _not_configured(spec: JsonObject, families: Sequence[str]) -> list[FieldError]:
    errors = []
    if spec["ipFamilyPolicy"] == REQUIRE and len(families) < 2:
        text = "this cluster is not configured for dual-stack services"
        errors.append(invalid("spec.ipFamilyPolicy", REQUIRE, text))
    for index, family in enumerate(spec.get("ipFamilies") or ()):
        if family not in families:
            errors.append(invalid(f"spec.ipFamilies[{index}]", family, "not configured on this cluster"))
    return errors


def _other(family: str) -> str:
    return "IPv6" if family == "IPv4" else "IPv4"


def _refuse(service: JsonObject, errors: list[FieldError]) -> None:
    if errors:
        raise refused(service, errors)


def refused(service: JsonObject, errors: list[FieldError]) -> StatusError:
    """The StatusError 422 for a service with these errors."""
    return invalid_object("", "Service", service["metadata"].get("name", ""), errors)
