"""CEL expressions of an AuthenticationConfiguration, over claims and over users."""

from __future__ import annotations

from gateway.access.expressions import compiled
from gateway.access.review_types import USER
from gateway.cel.editions import edition_of
from gateway.cel.environment import NoStructs
from gateway.cel.program import Program
from gateway.cel.types import BOOL, DYN, STRING, map_of, struct
from gateway.release.gates import Enabled

_CLAIMS, _USER = map_of(STRING, DYN), struct("kubernetes.UserInfo")


def program(text: str, variable: str, enabled: Enabled, *, true: bool) -> Program:
    """Compiles an expression over the variable "claims" or "user". With `true` its type must be bool.

    `enabled` selects the edition of CEL. Raises ExpressionError.
    """
    returns, edition = (BOOL,) if true else (DYN,), edition_of(enabled)
    if variable == "user":
        return compiled(text, (variable, _USER), USER, returns, edition)
    return compiled(text, (variable, _CLAIMS), NoStructs(), returns, edition)
