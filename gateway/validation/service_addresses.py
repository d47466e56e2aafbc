"""A Service's clusterIP, clusterIPs, ipFamilies and ipFamilyPolicy, which depend on each other (KEP-563)."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.validation.addresses import validate_ip_legacy
from gateway.validation.checks import known
from gateway.validation.endpoint_addresses import is_ipv6
from gateway.validation.field import FieldError, duplicate, first_places, invalid, not_supported, required

FAMILIES = ("IPv4", "IPv6")
POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
_UNCHANGEABLE = "may not change once set"


def is_headless(spec: JsonObject | None) -> bool:
    return spec is not None and spec.get("clusterIPs") == ["None"]


def cluster_ips_errors(spec: JsonObject, before: JsonObject | None) -> list[FieldError]:
    """Checks the address fields of a spec against each other. Also called before addresses are allocated."""
    if spec.get("type") == "ExternalName":
        return []
    path, found = "spec.clusterIPs", list[FieldError]()
    addresses: list[str] = spec.get("clusterIPs") or []
    families: list[str] = spec.get("ipFamilies") or []
    found += _in_step(spec.get("clusterIP", ""), addresses, path)
    first = first_places(families)
    for i, family in enumerate(families):
        if family not in FAMILIES:
            found.append(not_supported(f"spec.ipFamilies[{i}]", family, FAMILIES))
        if first[family] < i:
            found.append(duplicate(f"spec.ipFamilies[{i}]", family))
    if (policy := spec.get("ipFamilyPolicy")) is not None:
        found += known("spec.ipFamilyPolicy", policy, POLICIES)
    existing = tuple((before or {}).get("clusterIPs") or ())
    malformed = False
    for i, address in enumerate(addresses):
        if i == 0 and address == "None":
            if len(addresses) > 1:
                malformed = True
                found.append(invalid(path, addresses, "'None' must be the first and only value"))
            continue
        errors = validate_ip_legacy(f"{path}[{i}]", address, existing)
        malformed = malformed or bool(errors)
        found += errors
    if len(addresses) > 2:
        found.append(invalid(path, addresses, "may only hold up to 2 values"))
    if malformed:
        return found
    if len(addresses) > 1 and len({is_ipv6(address) for address in addresses}) < 2:
        found.append(invalid(path, addresses, "may specify no more than one IP for each IP family"))
    if not is_headless(spec):
        for i, (address, family) in enumerate(zip(addresses, families, strict=False)):
            if family in FAMILIES and is_ipv6(address) != (family == "IPv6"):
                message = f"expected an {family} value as indicated by `ipFamilies[{i}]`"
                found.append(invalid(f"{path}[{i}]", address, message))
    return found


def _in_step(single: str, plural: list[str], path: str) -> list[FieldError]:
    if single and not plural:
        return [required(path)]
    if single and plural[0] != single:
        return [invalid(path, plural, "first value must match `clusterIP`")]
    if not single and plural:
        return [invalid(path, plural, "must be empty when `clusterIP` is not specified")]
    return []


def cluster_ips_update(spec: JsonObject, before: JsonObject) -> list[FieldError]:
    """Checks an update of clusterIPs: the first address is immutable.

    A second address may be added. It may be removed if ipFamilyPolicy is SingleStack.
    """
    if "ExternalName" in (spec.get("type"), before.get("type")) or (is_headless(spec) and is_headless(before)):
        return []
    new: list[str] = spec.get("clusterIPs") or []
    old: list[str] = before.get("clusterIPs") or []
    shown, path, found = new or None, "spec.clusterIPs", list[FieldError]()
    if len(old) == len(new):
        for i, (was, now) in enumerate(zip(old, new, strict=True)):
            if was != now:
                found.append(invalid(f"{path}[{i}]", shown, _UNCHANGEABLE))
        return found
    if not new:
        found.append(invalid(f"{path}[0]", shown, "primary clusterIP can not be unset"))
    if old and new and old[0] != new[0]:
        found.append(invalid(f"{path}[0]", shown, _UNCHANGEABLE))
    if len(old) > len(new) == 1 and spec.get("ipFamilyPolicy") != "SingleStack":
        message = "must be set to 'SingleStack' when releasing the secondary clusterIP"
        found.append(invalid("spec.ipFamilyPolicy", spec.get("ipFamilyPolicy"), message))
    return found


def ip_families_update(spec: JsonObject, before: JsonObject) -> list[FieldError]:
    """Checks an update of ipFamilies by the rule for clusterIPs. A headless Service may change them."""
    if "ExternalName" in (spec.get("type"), before.get("type")) or is_headless(spec) or is_headless(before):
        return []
    new: list[str] = spec.get("ipFamilies") or []
    old: list[str] = before.get("ipFamilies") or []
    addresses, path, found = spec.get("clusterIPs") or None, "spec.ipFamilies[0]", list[FieldError]()
    if len(old) == len(new):
        return [invalid(path, new, _UNCHANGEABLE) for was, now in zip(old, new, strict=True) if was != now]
    if len(old) > len(new) and not addresses:
        found.append(invalid(path, new or None, "primary ipFamily can not be unset"))
    if old and new and old[0] != new[0]:
        found.append(invalid(path, addresses, _UNCHANGEABLE))
    if len(old) > len(new) == 1 and spec.get("ipFamilyPolicy") != "SingleStack":
        message = "must be set to 'SingleStack' when releasing the secondary ipFamily"
        found.append(invalid("spec.ipFamilyPolicy", spec.get("ipFamilyPolicy"), message))
    return found
