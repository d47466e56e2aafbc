"""The CEL types of users and of access reviews, for the expressions of access configuration files."""

from __future__ import annotations

from gateway.cel.declared_types import DeclaredTypes
from gateway.cel.types import STRING, list_of, map_of, struct

TEXTS = list_of(STRING)
EXTRA = map_of(STRING, TEXTS)

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
