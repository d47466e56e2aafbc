"""matchConditions of an authorization webhook: CEL expressions over the SubjectAccessReview to be sent."""

from __future__ import annotations

from gateway.access.authorization_webhook import VARIABLE
from gateway.access.expressions import compiled
from gateway.access.review_types import ACCESS_REVIEW
from gateway.cel.editions import edition_of
from gateway.cel.program import Program
from gateway.cel.types import BOOL, struct
from gateway.release.gates import Enabled

_SPEC = struct("kubernetes.SubjectAccessReviewSpec")


def compiled_condition(text: str, enabled: Enabled) -> Program:
    """Compiles the CEL text of a condition; `enabled` selects the edition of CEL. Raises ExpressionError."""
    return compiled(text, (VARIABLE, _SPEC), ACCESS_REVIEW, (BOOL,), edition_of(enabled))
