"""The review of a plug-in that asks what is in force about a write: webhooks or policies."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from gateway.admission.chain import PluginParts, Review
from gateway.admission.matching import Candidate, InForce
from gateway.admission.policies.configuration import EXEMPT
from gateway.admission.record import Admission

H = TypeVar("H")

Ask = Callable[[PluginParts, Admission, Sequence[Candidate[H]]], Awaitable[None]]
"""Asks the webhooks or policies that may concern a write. Raises StatusError."""


def asking(parts: PluginParts, in_force: InForce[H], imported: Callable[[], Ask[H]]) -> Review:
    """A review that asks those in force which match a write; `imported` imports what does that.

    It is asked without candidates, too, while it is not known which there are. Where there are none it is not called
    (`Reviews.idle`).
    """

    def review(admission: Admission) -> Awaitable[None] | None:
        candidates = in_force.of(admission.resource, admission.operation)
        if not candidates and in_force.informed:
            return None
        return imported()(parts, admission, candidates)

    return review


def but_of_reviews(parts: PluginParts, review: Review) -> Review:
    """A review that skips TokenReview, SubjectAccessReview and the like, where the gate is on."""
    if not parts.release.gates.enabled("ExcludeAdmissionWebhookVirtualResources"):
        return review

    def others(admission: Admission) -> Awaitable[None] | None:
        resource = admission.resource
        return None if (resource.group, resource.resource) in EXEMPT else review(admission)

    return others
