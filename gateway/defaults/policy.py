"""Normalisation of PodDisruptionBudgets.

Source: Kubernetes API reference, PodDisruptionBudgetSpec: an empty selector matches all pods, an absent one none.
"""

from __future__ import annotations

from gateway.defaults.registry import Defaulters
from gateway.defaults.table import compile_table
from gateway.jsontypes import JsonObject

_MARK = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match"
_MATCH_NONE = {"matchExpressions": [{"key": _MARK, "operator": "Exists"}]}


def _strip_mark(selector: JsonObject) -> None:
    """Drops the expressions that mark a selector of policy/v1beta1, unless the mark is the whole selector."""
    expressions = selector.get("matchExpressions")
    if not expressions or selector == _MATCH_NONE:
        return
    kept = [expression for expression in expressions if expression.get("key") != _MARK]
    if kept:
        selector["matchExpressions"] = kept
    else:
        del selector["matchExpressions"]


DEFAULTERS: Defaulters = {
    ("policy/v1", "PodDisruptionBudget"): compile_table({"spec.selector": _strip_mark}),
}
