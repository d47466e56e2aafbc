"""IPAddresses: the name is the address; parentRef is immutable (KEP-1880)."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.validation.addresses import validate_ip
from gateway.validation.checks import each, same, text
from gateway.validation.field import FieldError, go_quote, invalid, required
from gateway.validation.go_structs import verbatim
from gateway.validation.names import is_dns1123_subdomain, is_path_segment_name
from gateway.validation.objectmeta import IMMUTABLE, recheck_object_meta_update, validate_object_meta


def name_is_ip_address(name: str, prefix: bool) -> list[str]:
    """Error messages for a name that is not an IP address in canonical form."""
    shown = f"Invalid value: {go_quote(name)}: "
    return [error.body.removeprefix(shown) for error in validate_ip("", name)]


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    parent, path = obj.get("spec", {}).get("parentRef"), "spec.parentRef"
    if parent is None:
        return [required(path)]
    found: list[FieldError] = []
    if group := parent.get("group"):
        found += each(f"{path}.group", group, is_dns1123_subdomain(group))
    for key in ("resource", "name"):
        found += text(f"{path}.{key}", parent.get(key), is_path_segment_name)
    if namespace := parent.get("namespace"):
        found += each(f"{path}.namespace", namespace, is_path_segment_name(namespace))
    return found


def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    found = validate_object_meta(obj["metadata"], False, name_is_ip_address) + _validate(obj, context)
    found += recheck_object_meta_update(obj["metadata"], old["metadata"])
    new, before = obj.get("spec", {}).get("parentRef"), old.get("spec", {}).get("parentRef")
    if same(new, before):
        return found
    shown = verbatim("io.k8s.api.networking.v1.ParentReference", new)
    return [*found, invalid("spec.parentRef", shown, IMMUTABLE)]


STRATEGIES = {
    "": Strategy(
        validate=_validate,
        validate_update=_validate_update,
        validate_name=name_is_ip_address,
        generate_name=str,  # an address cannot end in random letters
        rechecks_metadata=False,
    )
}
