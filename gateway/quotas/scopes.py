"""Which objects a quota selects: its scopes and its scopeSelector ("Resource Quotas", "Quota scopes")."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from gateway.jsontypes import JsonObject


@dataclass(frozen=True, slots=True)
class ScopeSelector:
    """One requirement. The operator of a plain scope is Exists."""

    scope: str
    operator: str = "Exists"
    values: tuple[str, ...] = ()

    def selects(self, names: Collection[str]) -> bool:
        """Whether it selects an object whose values of the scope are `names`, which is empty if it has none."""
        match self.operator:
            case "In":
                return any(name in self.values for name in names)
            case "NotIn":
                return not names or any(name not in self.values for name in names)
            case "Exists":
                return bool(names)
            case "DoesNotExist":
                return not names
        return False

    def __str__(self) -> str:
        """As Go prints it."""
        return f"{{{self.scope} {self.operator} [{' '.join(self.values)}]}}"


def selectors_of(spec: JsonObject) -> tuple[ScopeSelector, ...]:
    """The requirements of a quota's specification, from its scopes and its scopeSelector. All have to hold."""
    plain = [ScopeSelector(scope) for scope in spec.get("scopes") or ()]
    return (*plain, *map(selector_of, (spec.get("scopeSelector") or {}).get("matchExpressions") or ()))


def selector_of(expression: JsonObject) -> ScopeSelector:
    """The requirement of a ScopedResourceSelectorRequirement."""
    values = tuple(expression.get("values") or ())
    return ScopeSelector(expression.get("scopeName", ""), expression.get("operator", ""), values)
