"""Roles: validation is the same on every write."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.strategies.rbac import rbac
from gateway.validation.field import FieldError
from gateway.validation.rbac import validate_rules


def _validate(obj: JsonObject) -> list[FieldError]:
    return validate_rules(obj, True)


STRATEGIES = rbac(True, _validate, lambda obj, old: _validate(obj))
