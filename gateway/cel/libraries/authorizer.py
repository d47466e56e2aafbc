"""Kubernetes' library of authorization checks: `authorizer.group('').resource('pods').check('create').allowed()`.

The caller of the evaluation passes `Authorizer(decide, user)` as a variable. `decide` is synchronous. If it needs to
wait for an answer, it raises an exception that is not an EvaluationError: this aborts the evaluation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from gateway.cel.values import EvaluationError, register
from gateway.validation.names import is_dns1123_label, is_dns1123_subdomain


@dataclass(slots=True, frozen=True)
class ServiceAccount:
    """A service account as a user."""

    namespace: str
    name: str


@dataclass(slots=True, frozen=True)
class Question:
    """An authorization check: may the user do the verb on a resource or a path? Hashable if the user is."""

    user: Any
    verb: str = ""
    path: str | None = None
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: str = ""
    label_selector: str = ""


@dataclass(slots=True, frozen=True)
class AuthorizerDecision:
    """The authorizer's decision."""

    allowed: bool
    reason: str = ""
    error: str = ""


Decide = Callable[[Question], AuthorizerDecision]


@dataclass(slots=True, frozen=True)
class AuthorizerVariable:
    """The variable `authorizer`: checks for one user."""

    decide: Decide
    user: Any


@dataclass(slots=True, frozen=True)
class _Check:
    decide: Decide
    question: Question


class PathCheck(_Check):
    """`authorizer.path(...)`: a check of a non-resource path."""

    __slots__ = ()


class GroupCheck(_Check):
    """`authorizer.group(...)`: a check that has no resource yet."""

    __slots__ = ()


class ResourceCheck(_Check):
    """`authorizer.group(...).resource(...)`: a check of a resource."""

    __slots__ = ()


for _kind in (AuthorizerVariable, PathCheck, GroupCheck, ResourceCheck, AuthorizerDecision):
    register(_kind, f"kubernetes.authorization.{_kind.__name__}")


def _path(of: AuthorizerVariable, path: str) -> PathCheck:
    if not path.strip():
        raise EvaluationError("path must not be empty")
    return PathCheck(of.decide, Question(of.user, path=path))


def _service_account(of: AuthorizerVariable, namespace: str, name: str) -> AuthorizerVariable:
    if is_dns1123_subdomain(name):
        raise EvaluationError("Invalid service account name")
    if is_dns1123_label(namespace):
        raise EvaluationError("Invalid service account namespace")
    return AuthorizerVariable(of.decide, ServiceAccount(namespace, name))


def _with(field: str) -> Callable[[ResourceCheck, str], ResourceCheck]:
    def call(check: ResourceCheck, value: str) -> ResourceCheck:
        return ResourceCheck(check.decide, replace(check.question, **{field: value}))

    return call


def _resource(check: GroupCheck, name: str) -> ResourceCheck:
    if not name.strip():
        raise EvaluationError("resource must not be empty")
    return ResourceCheck(check.decide, replace(check.question, resource=name))


def _check(check: _Check, verb: str) -> AuthorizerDecision:
    return check.decide(replace(check.question, verb=verb))


OVERLOADS: dict[str, Callable[..., Any]] = {
    "authorizer_path": _path,
    "authorizer_group": lambda of, group: GroupCheck(of.decide, Question(of.user, group=group)),
    "authorizer_serviceaccount": _service_account,
    "groupcheck_resource": _resource,
    "resourcecheck_subresource": _with("subresource"),
    "resourcecheck_namespace": _with("namespace"),
    "resourcecheck_name": _with("name"),
    "authorizer_fieldselector": _with("field_selector"),
    "authorizer_labelselector": _with("label_selector"),
    "pathcheck_check": _check,
    "resourcecheck_check": _check,
    "decision_errored": lambda decision: bool(decision.error),
    "decision_error": lambda decision: decision.error,
    "decision_allowed": lambda decision: decision.allowed,
    "decision_reason": lambda decision: decision.reason,
}
