"""Subresources with verbs of their own (scale, binding, eviction, token), and resources without storage (reviews).

`VERBS` says which function serves them, as the table of `gateway.verbs` does for all others.
"""

from __future__ import annotations

from gateway.kinds.identity import GroupResource

_SCALE = {verb: f"gateway.subresources.scale:{verb}" for verb in ("get", "update", "patch")}
_ANY_METHOD = ("get", "create", "update", "patch", "delete", "")  # OPTIONS has no verb


def _passed(function: str, verbs: tuple[str, ...] = _ANY_METHOD) -> dict[str, str]:
    return dict.fromkeys(verbs, f"gateway.proxies.{function}")


def _post(function: str) -> dict[str, str]:
    return {"create": f"gateway.subresources.{function}"}


# of any resource: subresource -> {verb: "module:function"}
EVERYWHERE = {"scale": _SCALE}

_REVIEWS, _ACCESS = "authentication.k8s.io", "authorization.k8s.io"

# resource, subresource -> {verb: "module:function"}
VERBS: dict[tuple[GroupResource, str], dict[str, str]] = {
    (GroupResource("", "bindings"), ""): _post("binding:create"),
    (GroupResource("", "pods"), "binding"): _post("binding:create"),
    (GroupResource("", "pods"), "eviction"): _post("eviction:create"),
    (GroupResource("", "serviceaccounts"), "token"): _post("token:create"),
    (GroupResource("", "pods"), "log"): _passed("logs:log", ("get",)),
    (GroupResource("", "pods"), "exec"): _passed("sessions:execute"),
    (GroupResource("", "pods"), "attach"): _passed("sessions:attach"),
    (GroupResource("", "pods"), "portforward"): _passed("sessions:portforward"),
    (GroupResource("", "pods"), "proxy"): _passed("proxy:pod"),
    (GroupResource("", "services"), "proxy"): _passed("proxy:service"),
    (GroupResource("", "nodes"), "proxy"): _passed("proxy:node"),
    (GroupResource(_REVIEWS, "selfsubjectreviews"), ""): _post("reviews:self_subject_review"),
    (GroupResource(_REVIEWS, "tokenreviews"), ""): _post("reviews:token_review"),
    (GroupResource(_ACCESS, "subjectaccessreviews"), ""): _post("reviews:subject_access_review"),
    (GroupResource(_ACCESS, "localsubjectaccessreviews"), ""): _post("reviews:subject_access_review"),
    (GroupResource(_ACCESS, "selfsubjectaccessreviews"), ""): _post("reviews:self_subject_access_review"),
    (GroupResource(_ACCESS, "selfsubjectrulesreviews"), ""): _post("reviews:self_subject_rules_review"),
}

# answered by another server: this one negotiates no media type
PASSED_ON = frozenset(
    resource for resource, verbs in VERBS.items() if any(each.startswith("gateway.proxies.") for each in verbs.values())
)
