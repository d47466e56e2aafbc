"""Columns of webhook configurations, admission policies and their bindings."""

from __future__ import annotations

from collections.abc import Callable

from gateway.jsontypes import JsonObject
from gateway.kinds.columns.model import AGE, NAME, UNSET, Cell, Columns, age, column, integer, name_of, part
from gateway.kinds.columns.selectors import selector_struct

_GROUP = "admissionregistration.k8s.io"


def _webhooks(obj: JsonObject) -> list[Cell]:
    return [name_of(obj), len(obj.get("webhooks") or ()), age(obj)]


def _policy(rules: str) -> Callable[[JsonObject], list[Cell]]:
    def cells(obj: JsonObject) -> list[Cell]:
        kind = part(obj, "spec").get("paramKind")
        shown = UNSET if kind is None else f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}"
        return [name_of(obj), len(part(obj, "spec").get(rules) or ()), shown, age(obj)]

    return cells


def _binding(obj: JsonObject) -> list[Cell]:
    spec = part(obj, "spec")
    reference, shown = part(spec, "paramRef"), UNSET
    if reference.get("name"):
        shown = f"{reference.get('namespace') or '*'}/{reference['name']}"
    elif reference.get("selector") is not None:
        shown = selector_struct(reference["selector"])
    return [name_of(obj), spec.get("policyName", ""), shown, age(obj)]


_CONFIGURATION = Columns((NAME, integer("Webhooks"), AGE), _webhooks)
_BINDING = Columns((NAME, column("PolicyName"), column("ParamRef"), AGE), _binding)
COLUMNS = {
    (_GROUP, "MutatingWebhookConfiguration"): _CONFIGURATION,
    (_GROUP, "ValidatingWebhookConfiguration"): _CONFIGURATION,
    (_GROUP, "ValidatingAdmissionPolicy"): Columns(
        (NAME, integer("Validations"), column("ParamKind"), AGE), _policy("validations")
    ),
    (_GROUP, "MutatingAdmissionPolicy"): Columns(
        (NAME, integer("Mutations"), column("ParamKind"), AGE), _policy("mutations")
    ),
    (_GROUP, "ValidatingAdmissionPolicyBinding"): _BINDING,
    (_GROUP, "MutatingAdmissionPolicyBinding"): _BINDING,
}
