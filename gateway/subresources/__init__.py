"""Subresources, and resources without storage, that are more than their object with fewer fields.

`VERBS` says what serves them, as the table of `gateway.verbs` does for all others.
"""

from __future__ import annotations

_SCALE = {verb: f"gateway.subresources.scale:{verb}" for verb in ("get", "update", "patch")}
_ANY_METHOD = ("get", "create", "update", "patch", "delete")


def _connect(function: str, verbs: tuple[str, ...] = _ANY_METHOD) -> dict[str, str]:
    return dict.fromkeys(verbs, f"gateway.subresources.connect:{function}")


def _post(function: str) -> dict[str, str]:
    return {"create": f"gateway.subresources.{function}"}


# (plural.group or "*" for any, subresource or "") -> {verb: "module:function"}
VERBS: dict[tuple[str, str], dict[str, str]] = {
    ("*", "scale"): _SCALE,
    ("bindings", ""): _post("binding:create"),
    ("pods", "binding"): _post("binding:create"),
    ("pods", "eviction"): _post("eviction:create"),
    ("serviceaccounts", "token"): _post("token:create"),
    ("pods", "log"): _connect("log", ("get",)),
    ("pods", "exec"): _connect("stream"),
    ("pods", "attach"): _connect("stream"),
    ("pods", "portforward"): _connect("stream"),
    ("pods", "proxy"): _connect("pod_proxy"),
    ("services", "proxy"): _connect("service_proxy"),
    ("nodes", "proxy"): _connect("node_proxy"),
    ("selfsubjectreviews.authentication.k8s.io", ""): _post("reviews:self_subject_review"),
    ("tokenreviews.authentication.k8s.io", ""): _post("reviews:token_review"),
    ("subjectaccessreviews.authorization.k8s.io", ""): _post("reviews:subject_access_review"),
    ("localsubjectaccessreviews.authorization.k8s.io", ""): _post("reviews:subject_access_review"),
    ("selfsubjectaccessreviews.authorization.k8s.io", ""): _post("reviews:self_subject_access_review"),
    ("selfsubjectrulesreviews.authorization.k8s.io", ""): _post("reviews:self_subject_rules_review"),
}
