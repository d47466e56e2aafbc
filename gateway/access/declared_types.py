"""The object types that expressions of access see: what users, claims and access reviews look like."""

from __future__ import annotations

from collections.abc import Mapping

from gateway.cel.environment import Maker
from gateway.cel.types import STRING, Type, list_of, map_of, struct

TEXTS = list_of(STRING)
EXTRA = map_of(STRING, TEXTS)


class DeclaredTypes:
    """Object types that are told by name; expressions cannot make objects of them."""

    def __init__(self, types: Mapping[str, Mapping[str, Type]]) -> None:
        self._types = types

    def known(self, name: str) -> bool:
        """See gateway.cel.environment.Structs."""
        return name in self._types

    def field(self, name: str, field: str) -> Type | None:
        """See gateway.cel.environment.Structs."""
        return self._types.get(name, {}).get(field)

    def maker(self, name: str) -> Maker | None:
        """See gateway.cel.environment.Structs."""
        return None


USER = DeclaredTypes(
    {"kubernetes.UserInfo": {"username": STRING, "uid": STRING, "groups": TEXTS, "extra": EXTRA}},
)

_REQUIREMENT = {"key": STRING, "operator": STRING, "values": TEXTS}
_SELECTOR = {"rawSelector": STRING, "requirements": list_of(struct("kubernetes.SelectorRequirement"))}

ACCESS_REVIEW = DeclaredTypes(
    {
        "kubernetes.SubjectAccessReviewSpec": {
            "resourceAttributes": struct("kubernetes.ResourceAttributes"),
            "nonResourceAttributes": struct("kubernetes.NonResourceAttributes"),
            "user": STRING,
            "groups": TEXTS,
            "extra": EXTRA,
            "uid": STRING,
        },
        "kubernetes.ResourceAttributes": {
            **dict.fromkeys(("namespace", "verb", "group", "version", "resource", "subresource", "name"), STRING),
            "fieldSelector": struct("kubernetes.FieldSelectorAttributes"),
            "labelSelector": struct("kubernetes.LabelSelectorAttributes"),
        },
        "kubernetes.NonResourceAttributes": {"path": STRING, "verb": STRING},
        "kubernetes.FieldSelectorAttributes": _SELECTOR,
        "kubernetes.LabelSelectorAttributes": _SELECTOR,
        "kubernetes.SelectorRequirement": _REQUIREMENT,
    }
)
