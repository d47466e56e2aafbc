"""Which requests a flow schema matches (flowcontrol.apiserver.k8s.io/v1, FlowSchemaSpec)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gateway.http.request_info import RequestInfo
from gateway.http.user import User
from gateway.jsontypes import JsonObject

ALL = "*"
_ACCOUNT = "system:serviceaccount:"

Matches = Callable[[User, RequestInfo], bool]


def compile_rules(rules: Sequence[JsonObject]) -> Matches:
    """Returns a function that tells whether any of a flow schema's rules matches a user's request."""
    compiled = [_rule(rule) for rule in rules]
    return lambda user, info: any(matches(user, info) for matches in compiled)


def _rule(rule: JsonObject) -> Matches:
    subjects = _subjects(rule.get("subjects") or ())
    resources = [_resource_rule(each) for each in rule.get("resourceRules") or ()]
    urls = [_url_rule(each) for each in rule.get("nonResourceRules") or ()]

    def matches(user: User, info: RequestInfo) -> bool:
        return subjects(user) and any(each(info) for each in (resources if info.is_resource else urls))

    return matches


def _subjects(subjects: Sequence[JsonObject]) -> Callable[[User], bool]:
    names: set[str] = set()
    groups: set[str] = set()
    prefixes: list[str] = []
    for subject in subjects:
        match subject.get("kind"):
            case "User":
                names.add(_named(subject, "user"))
            case "Group":
                groups.add(_named(subject, "group"))
            case "ServiceAccount":
                account = subject.get("serviceAccount") or {}
                home = f"{_ACCOUNT}{account.get('namespace', '')}:"
                if account.get("name") == ALL:
                    prefixes.append(home)
                else:
                    names.add(home + account.get("name", ""))
    everybody, accounts = ALL in names or ALL in groups, tuple(prefixes)
    return lambda user: (
        everybody or user.name in names or not groups.isdisjoint(user.groups) or user.name.startswith(accounts)
    )


def _named(subject: JsonObject, member: str) -> str:
    name: str = (subject.get(member) or {}).get("name", "")
    return name


def _any_of(values: Sequence[str] | None) -> Callable[[str], bool]:
    """Returns a function that tells whether a text is among values; a single "*" stands for all texts."""
    found = frozenset(values or ())
    return (lambda _text: True) if found == {ALL} else found.__contains__


def _resource_rule(rule: JsonObject) -> Callable[[RequestInfo], bool]:
    verbs, groups = _any_of(rule.get("verbs")), _any_of(rule.get("apiGroups"))
    resources, namespaces = _any_of(rule.get("resources")), _any_of(rule.get("namespaces"))
    cluster_scope: Any = rule.get("clusterScope", False)

    def matches(info: RequestInfo) -> bool:
        combined = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
        if not (verbs(info.verb) and resources(combined) and groups(info.group)):
            return False
        return namespaces(info.namespace) if info.namespace else bool(cluster_scope)

    return matches


def _url_rule(rule: JsonObject) -> Callable[[RequestInfo], bool]:
    verbs, urls = _any_of(rule.get("verbs")), frozenset(rule.get("nonResourceURLs") or ())
    below = tuple(url.removesuffix(ALL).removesuffix("/") + "/" for url in urls)
    everything = ALL in urls
    return lambda info: verbs(info.verb) and (everything or info.path in urls or info.path.startswith(below))
