"""CustomResourceDefinitions without their schemas (page "Extend the Kubernetes API with CustomResourceDefinitions").

kube-apiserver validates its internal form, in which fields that are equal in all versions stand once, beside the
versions. Errors then name `spec.validation`, `spec.subresources`, `spec.additionalPrinterColumns` or
`spec.selectableFields`. The rules here get a spec in this form (`internal_spec`).
"""

from __future__ import annotations

import base64

from gateway.jsontypes import JsonObject
from gateway.validation.certificate_pem import certificates_problem
from gateway.validation.checks import each, immutable, one_of
from gateway.validation.definition_columns import validate_columns, validate_selectable_fields, validate_subresources
from gateway.validation.definition_schema import NO_RULES, RuleChecks, validate_schema
from gateway.validation.field import FieldError, Verbatim, forbidden, go_quote, invalid, required
from gateway.validation.go_structs import verbatim
from gateway.validation.names import is_dns1035_label, is_dns1123_subdomain
from gateway.validation.structural_schema import every
from gateway.validation.urls import parse_url, validate_webhook_service, validate_webhook_url
from gateway.validation.webhooks import REVIEW_VERSIONS, each_version_once

SCOPES, STRATEGIES = ("Cluster", "Namespaced"), ("None", "Webhook")
VERSION_TYPE = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionVersion"
APPROVAL = "api-approved.kubernetes.io"
_APPROVAL_PAGE = "see https://github.com/kubernetes/enhancements/pull/1111"
SHARED = {
    "schema": "validation",
    "subresources": "subresources",
    "additionalPrinterColumns": "additionalPrinterColumns",
    "selectableFields": "selectableFields",
}


def internal_spec(spec: JsonObject) -> JsonObject:
    """The internal form of a spec: fields that are equal in all versions are moved from the versions into the spec."""
    versions: list[JsonObject] = spec.get("versions") or []
    if not versions:
        return spec
    spec = {**spec, "version": versions[0].get("name", ""), "versions": [dict(version) for version in versions]}
    for key, above in SHARED.items():
        value = versions[0].get(key)
        if all(version.get(key) == value for version in versions):
            spec[above] = value
            for version in spec["versions"]:
                version.pop(key, None)
    return spec


def is_established(definition: JsonObject) -> bool:
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return any(one.get("type") == "Established" and one.get("status") == "True" for one in conditions)


def validate_definition(obj: JsonObject, old: JsonObject | None, rules: RuleChecks = NO_RULES) -> list[FieldError]:
    """The errors of the spec, the status and the approval annotation."""
    spec, before = obj.get("spec", {}), (old or {}).get("spec", {})
    found = _spec(internal_spec(spec), old, rules)
    if old is not None:
        if is_established(old):
            found += immutable("spec.scope", spec.get("scope", ""), before.get("scope", ""))
            found += _immutable_name("kind", spec, before)
        found += immutable("spec.group", spec.get("group", ""), before.get("group", ""))
        found += _immutable_name("plural", spec, before)
    found += validate_definition_status(obj) + _stored_versions(obj)
    found += _approval(obj, old)
    if spec.get("preserveUnknownFields") and not before.get("preserveUnknownFields"):
        message = (
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        )
        found.append(invalid("spec.preserveUnknownFields", True, message))
    return found


def _immutable_name(key: str, spec: JsonObject, before: JsonObject) -> list[FieldError]:
    new, old = (one.get("names", {}).get(key, "") for one in (spec, before))
    return immutable(f"spec.names.{key}", new, old)


def validate_definition_status(obj: JsonObject) -> list[FieldError]:
    return _names((obj.get("status") or {}).get("acceptedNames") or {}, "status.acceptedNames")


def _label(path: str, value: str) -> list[FieldError]:
    messages = is_dns1035_label(value)
    return [invalid(path, value, ",".join(messages))] if messages else []


def _group(group: str) -> list[FieldError]:
    if not group:
        return [required("spec.group")]
    if messages := is_dns1123_subdomain(group):
        return [invalid("spec.group", group, ",".join(messages))]
    return [] if "." in group else [invalid("spec.group", group, "should be a domain with at least one dot")]


def _spec(spec: JsonObject, old: JsonObject | None, rules: RuleChecks) -> list[FieldError]:
    found = _group(spec.get("group", "")) + one_of("spec.scope", spec.get("scope", ""), SCOPES)
    versions: list[JsonObject] = spec.get("versions") or []
    validation = spec.get("validation")
    if (validation or {}).get("openAPIV3Schema") is None:
        found += [
            required(f"spec.versions[{i}].schema.openAPIV3Schema")
            for i, version in enumerate(versions)
            if (version.get("schema") or {}).get("openAPIV3Schema") is None
        ]
    if spec.get("preserveUnknownFields") and _has_defaults(spec):
        message = "must be false in order to use defaults in the schema"
        found.append(invalid("spec.preserveUnknownFields", True, message))
    found += _versions(spec, versions, rules)
    names = spec.get("names", {})
    found += [required(f"spec.names.{key}") for key in ("plural", "singular", "kind", "listKind") if not names.get(key)]
    found += _names(names, "spec.names")
    status = any("status" in (one.get("subresources") or ()) for one in (spec, *versions))
    schema = (validation or {}).get("openAPIV3Schema")
    if schema is not None:
        found += validate_schema(schema, "spec.validation.openAPIV3Schema", status, rules)
    found += validate_subresources(spec.get("subresources"), "spec.subresources")
    found += validate_columns(spec.get("additionalPrinterColumns"), "spec.additionalPrinterColumns")
    if fields := spec.get("selectableFields"):
        if schema is None:
            found.append(invalid("spec.selectableFields", "", "may only be set when validations.schema is included"))
        else:
            found += validate_selectable_fields(fields, schema, "spec.selectableFields")
    return found + _conversion(spec, old)


def _has_defaults(spec: JsonObject) -> bool:
    holders = [spec.get("validation"), *(version.get("schema") for version in spec.get("versions") or ())]
    schemas = [schema for holder in holders if (schema := (holder or {}).get("openAPIV3Schema"))]
    return any("default" in one for schema in schemas for one in every(schema))


def _versions(spec: JsonObject, versions: list[JsonObject], rules: RuleChecks) -> list[FieldError]:
    found = list[FieldError]()
    for i, version in enumerate(versions):
        path = f"spec.versions[{i}]"
        found += _label(f"{path}.name", version.get("name", ""))
        found += _version(version, path, spec.get("subresources"), rules)
    names = [version.get("name", "") for version in versions]
    shown = None if spec.get("versions") is None else [verbatim(VERSION_TYPE, version) for version in versions]
    value = None if shown is None else _list(shown)
    if len(set(names)) != len(names):
        found.append(invalid("spec.versions", value, "must contain unique version names"))
    if sum(bool(version.get("storage")) for version in versions) != 1:
        found.append(invalid("spec.versions", value, "must have exactly one version marked as storage version"))
    if first := spec.get("version"):
        found += _label("spec.version", first)
    return found


def _list(items: list[Verbatim]) -> Verbatim:
    return Verbatim(f"[{','.join(items)}]")


def _version(version: JsonObject, path: str, shared: JsonObject | None, rules: RuleChecks) -> list[FieldError]:
    found, warning = list[FieldError](), version.get("deprecationWarning")
    if warning is not None:
        found += each(f"{path}.deprecationWarning", warning, _deprecation(warning, bool(version.get("deprecated"))))
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    subresources = version.get("subresources")
    if schema is not None:
        status = "status" in (subresources or shared or ())
        found += validate_schema(schema, f"{path}.schema.openAPIV3Schema", status, rules)
    found += validate_subresources(subresources, f"{path}.subresources")
    found += validate_columns(version.get("additionalPrinterColumns"), f"{path}.additionalPrinterColumns")
    if fields := version.get("selectableFields"):
        if schema is None:
            message = "may only be set when `version.schema.openAPIV3Schema` is not included"
            found.append(invalid(f"{path}.selectableFields", "", message))
        else:
            found += validate_selectable_fields(fields, schema, f"{path}.selectableFields")
    return found


def _deprecation(warning: str, deprecated: bool) -> list[str]:
    if not deprecated:
        return ["can only be set for deprecated versions"]
    found, size = list[str](), 0
    if len(warning.encode()) > 256:
        found.append("must be <= 256 characters long")
    if not warning:
        found.append("must not be an empty string")
    for char in warning:
        if not char.isprintable():
            message = "must only contain printable UTF-8 characters; non-printable character found at index"
            return [*found, f"{message} {size}"]
        size += len(char.encode())
    return found


def _names(names: JsonObject, path: str) -> list[FieldError]:
    found = list[FieldError]()
    for key in ("plural", "singular"):
        if name := names.get(key):
            found += _label(f"{path}.{key}", name)
    for key in ("kind", "listKind"):
        if (name := names.get(key)) and (messages := is_dns1035_label(name.lower())):
            message = f"may have mixed case, but should otherwise match: {','.join(messages)}"
            found.append(invalid(f"{path}.{key}", name, message))
    for i, name in enumerate(names.get("shortNames") or ()):
        found += _label(f"{path}.shortNames[{i}]", name)
    if (kind := names.get("kind")) and kind == names.get("listKind"):
        found.append(invalid(f"{path}.listKind", kind, "kind and listKind may not be the same"))
    for i, name in enumerate(names.get("categories") or ()):
        found += _label(f"{path}.categories[{i}]", name)
    return found


def _conversion(spec: JsonObject, old: JsonObject | None) -> list[FieldError]:
    if (conversion := spec.get("conversion")) is None:
        return []
    strategy, path = conversion.get("strategy", ""), "spec.conversion"
    found = list[FieldError]()
    if strategy != "None" and spec.get("preserveUnknownFields"):
        message = "must be None if spec.preserveUnknownFields is true"
        found.append(invalid(f"{path}.strategy", strategy, message))
    found += one_of(f"{path}.strategy", strategy, STRATEGIES)
    webhook = conversion.get("webhook") or {}
    client, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    if strategy == "Webhook":
        found += _client(client, f"{path}.webhookClientConfig", old)
        return found + _review_versions(versions, f"{path}.conversionReviewVersions", old)
    message = "should not be set when strategy is not set to Webhook"
    given = (("webhookClientConfig", client is not None), ("conversionReviewVersions", bool(versions)))
    return found + [forbidden(f"{path}.{key}", message) for key, is_given in given if is_given]


def _client(client: JsonObject | None, path: str, old: JsonObject | None) -> list[FieldError]:
    if client is None:
        return [required(path, "required when strategy is set to Webhook")]
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        found = [required(path, "exactly one of url or service is required")]
    elif url is not None:
        found = validate_webhook_url(url, f"{path}.url")
    else:
        service = service or {}
        name, namespace = service.get("name", ""), service.get("namespace", "")
        target, port = service.get("path"), service.get("port", 0)
        found = validate_webhook_service(name, namespace, target, port, f"{path}.service", swapped=True)
    bundle = client.get("caBundle") or ""
    strict = old is not None and is_established(old) and not conversion_bundle_problem(old)
    if strict and (problem := _bundle_problem(bundle)):
        message = f"unable to load root certificates: {problem}"
        found.append(invalid(f"{path}.caBundle", list(base64.b64decode(bundle)), message))
    return found


def _bundle_problem(bundle: str) -> str:
    return certificates_problem(base64.b64decode(bundle))


def conversion_bundle_problem(definition: JsonObject) -> str:
    """What is wrong with the caBundle of a CRD's conversion webhook; "" if it is valid, or there is none."""
    webhook = (definition.get("spec", {}).get("conversion") or {}).get("webhook") or {}
    return _bundle_problem((webhook.get("clientConfig") or {}).get("caBundle") or "")


def _review_versions(versions: list[str], path: str, old: JsonObject | None) -> list[FieldError]:
    if not versions:
        return [required(path)]
    found = each_version_once(versions, path)
    webhook = ((old or {}).get("spec", {}).get("conversion") or {}).get("webhook") or {}
    before = webhook.get("conversionReviewVersions") or ()
    recognized = not before or not set(before).isdisjoint(REVIEW_VERSIONS)
    if recognized and set(versions).isdisjoint(REVIEW_VERSIONS):
        found.append(invalid(path, versions, f"must include at least one of {', '.join(REVIEW_VERSIONS)}"))
    return found


def _stored_versions(obj: JsonObject) -> list[FieldError]:
    path = "status.storedVersions"
    stored: list[str] = (obj.get("status") or {}).get("storedVersions") or []
    if not stored:
        return [invalid(path, None, "must have at least one stored version")]
    found, left = list[FieldError](), {name: i for i, name in enumerate(stored)}
    for version in obj.get("spec", {}).get("versions") or ():
        name = version.get("name", "")
        if version.get("storage") and name not in left:
            found.append(invalid(path, stored, f"must have the storage version {name}"))
        left.pop(name, None)
    for name, i in left.items():
        message = (
            f"missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions "
            f"until a storage migration ensures no data remains persisted in {name} and removes {name} from "
            "status.storedVersions"
        )
        found.append(invalid(f"{path}[{i}]", name, message))
    return found


def _approval(obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
    state, message = approval(obj)
    if state in ("", "approved", "bypassed") or (old is not None and _approval_state(_annotation(old)) == state):
        return []
    path = f"metadata.annotations[{APPROVAL}]"
    return [required(path, message)] if state == "missing" else [invalid(path, _annotation(obj), message)]


def approval(obj: JsonObject) -> tuple[str, str]:
    """Returns the state of a CRD's approval ("approved", "bypassed", "missing" or "invalid"), and a message.

    Both are empty for a CRD of a group that is not protected.
    """
    group = obj.get("spec", {}).get("group", "")
    if not any(group == domain or group.endswith(f".{domain}") for domain in ("k8s.io", "kubernetes.io")):
        return "", ""
    annotation, state = _annotation(obj), _approval_state(_annotation(obj))
    message, see = f'protected groups must have approval annotation "{APPROVAL}"', _APPROVAL_PAGE
    match state:
        case "missing":
            return state, f"{message}, {see}"
        case "bypassed":
            return state, f"not approved: {go_quote(annotation)}"
        case "approved":
            return state, f"approved in {annotation}"
    return state, f'{message} with either a URL or a reason starting with "unapproved", {see}'


def _annotation(obj: JsonObject) -> str:
    return str((obj["metadata"].get("annotations") or {}).get(APPROVAL, ""))


def _approval_state(annotation: str) -> str:
    if not annotation:
        return "missing"
    if annotation.startswith("unapproved"):
        return "bypassed"
    try:
        url = parse_url(annotation)
    except ValueError:
        return "invalid"
    return "approved" if url.host and url.scheme else "invalid"
