"""ValidatingAdmissionPolicy: evaluates the policies that match a write (page "Validating Admission Policy")."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gateway.admission.chain import Plugin, PluginReviews
from gateway.admission.plugin_review import asking
from gateway.admission.policies.files import configure
from gateway.kinds.attributes import Operation
from gateway.kinds.resource import Resource
from gateway.validation.admission_rules import EXEMPT

if TYPE_CHECKING:
    from gateway.admission.plugin_review import Ask
    from gateway.admission.policies.configuration import Bound
    from gateway.admission.policies.validation import ValidatingPolicy


def _imported() -> Ask[Bound[ValidatingPolicy]]:
    from gateway.admission.policies.validating import review  # imported late: few have policies

    return review


def _handles(resource: Resource, operation: Operation) -> bool:
    return (resource.group, resource.resource) not in EXEMPT


PLUGIN = Plugin(
    "ValidatingAdmissionPolicy",
    _handles,
    lambda parts: PluginReviews(
        validate=asking(parts, parts.policies.validating, _imported), idle=parts.policies.validating
    ),
    manifests=partial(configure, "ValidatingAdmissionPolicy"),
)
