"""The policies in --admission-control-config-file: ValidatingAdmissionPolicyConfiguration and
MutatingAdmissionPolicyConfiguration (page "Manifest-Based Admission Control").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from gateway.admission.chain import Kinds
from gateway.admission.configuration import Document, InvalidConfiguration, Leaf, of_kind
from gateway.admission.manifests import Manifests, Rules
from gateway.jsontypes import JsonObject
from gateway.settings.configuration_file import GROUP
from gateway.validation.admission_rules import STATIC_SUFFIX
from gateway.validation.field import go_quote


def configure(kind: str, document: Document, kinds: Kinds) -> Manifests | None:
    """The policies of a kind in files, and their bindings; None without `staticManifestsDir`.

    Raises InvalidConfiguration.
    """
    given = of_kind(document, f"{kind}Configuration", (f"{GROUP}/v1",), {"staticManifestsDir": Leaf.TEXT})
    if not (directory := given.get("staticManifestsDir")):
        return None
    try:
        return Manifests(kind, directory, Rules(kinds, (kind, f"{kind}Binding"), _check))
    except OSError as error:
        raise InvalidConfiguration(f"{error.strerror}: {error.filename}") from None


def _check(found: Sequence[JsonObject]) -> None:
    policies = {obj["metadata"]["name"] for obj in found if not obj["kind"].endswith("Binding")}
    for obj in found:
        name, spec = obj["metadata"]["name"], obj.get("spec") or {}
        if not obj["kind"].endswith("Binding"):
            if spec.get("paramKind") is not None:
                _refuse(f"{obj['kind']} {go_quote(name)}: spec.paramKind is not supported for static manifests")
            continue
        policy = spec["policyName"]
        if not policy.endswith(STATIC_SUFFIX):
            _refuse(
                f"binding {go_quote(name)}: spec.policyName {go_quote(policy)} must end with {go_quote(STATIC_SUFFIX)}"
            )
        if spec.get("paramRef") is not None:
            _refuse(f"binding {go_quote(name)}: spec.paramRef is not supported for static manifests")
        if policy not in policies:
            said = f"binding {go_quote(name)} references policy {go_quote(policy)}"
            _refuse(f"{said} which does not exist in the manifest directory")


def _refuse(message: str) -> NoReturn:
    raise InvalidConfiguration(message)
