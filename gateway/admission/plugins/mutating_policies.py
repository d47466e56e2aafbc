"""MutatingAdmissionPolicy: the policies that match a write change its object (page "Mutating Admission Policy")."""

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
    from gateway.admission.policies.mutation import MutatingPolicy


def _imported() -> Ask[Bound[MutatingPolicy]]:
    from gateway.admission.policies.mutating import mutate  # imported late: few clusters have policies

    return mutate


def _handles(resource: Resource, operation: Operation) -> bool:
    return operation is not Operation.DELETE and (resource.group, resource.resource) not in EXEMPT


PLUGIN = Plugin(
    "MutatingAdmissionPolicy",
    _handles,
    lambda parts: PluginReviews(admit=asking(parts, parts.policies.mutating, _imported), idle=parts.policies.mutating),
    manifests=partial(configure, "MutatingAdmissionPolicy"),
)
