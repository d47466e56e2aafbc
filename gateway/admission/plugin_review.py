"""The review of a plug-in that calls webhooks or evaluates policies."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from gateway.admission.chain import PluginParts, Review
from gateway.admission.matcher import Candidate, InForce
from gateway.admission.record import Admission, Found
from gateway.validation.admission_rules import EXEMPT

H = TypeVar("H")

Ask = Callable[[PluginParts, Admission, Sequence[Candidate[H]]], Awaitable[Admission | None]]
"""Calls the webhooks, or evaluates the policies, whose rules match a write. Raises StatusError to refuse it."""


def asking(parts: PluginParts, in_force: InForce[H], imported: Callable[[], Ask[H]]) -> Review:
    """A review that passes the webhooks or policies whose rules match a write to an `Ask`, which `imported` imports.

    Until the stored ones are loaded, the `Ask` is called without candidates too. While there are none, the review is
    not called (`Reviews.idle`).
    """

    def review(admission: Admission) -> Found:
        candidates = in_force.of(admission.resource, admission.operation)
        if not candidates and in_force.informed:
            return None
        return imported()(parts, admission, candidates)

    return review


def but_of_reviews(parts: PluginParts, review: Review) -> Review:
    """A review that skips TokenReview, SubjectAccessReview and the like, if ExcludeAdmissionWebhookVirtualResources is
    on; else `review` itself.
    """
    if not parts.release.gates.enabled("ExcludeAdmissionWebhookVirtualResources"):
        return review

    def others(admission: Admission) -> Found:
        resource = admission.resource
        return None if (resource.group, resource.resource) in EXEMPT else review(admission)

    return others
