"""The conditions under which a webhook is asked: expressions about the SubjectAccessReview that it would get."""

from __future__ import annotations

from gateway.access.authorization_webhook import VARIABLE
from gateway.access.expressions import compiled
from gateway.access.review_types import ACCESS_REVIEW
from gateway.cel.program import Program
from gateway.cel.types import BOOL, struct

_SPEC = struct("kubernetes.SubjectAccessReviewSpec")


def compiled_condition(text: str) -> Program:
    """The program of a condition. Raises ExpressionError."""
    return compiled(text, VARIABLE, _SPEC, ACCESS_REVIEW, (BOOL,))
