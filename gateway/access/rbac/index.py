"""An index of a subject's roles by verb and resource, for subjects with many roles: a decision checks few of them.

An index is made at the first decision about such a subject, and follows the roles and bindings from then on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, TypeVar

from gateway.access.rbac.rules import ALL, PolicyRule
from gateway.http.request_info import RequestInfo

MANY = 32  # roles; a subject with no more needs no index
_MOST_KEYS = 64  # of one rule; a role with a larger rule is checked in every decision

Role = TypeVar("Role")
_Key = tuple[str, str]  # verb and resource; the resource "" stands for nonResourceURLs


class RoleIndex(Generic[Role]):
    """The roles of one subject in one namespace."""

    def __init__(self) -> None:
        self._keys: dict[Role, tuple[_Key | None, ...]] = {}  # None: checked in every decision
        self._found: dict[_Key | None, dict[Role, None]] = {}

    def __contains__(self, role: Role) -> bool:
        return role in self._keys

    def put(self, role: Role, rules: Sequence[PolicyRule] | None) -> None:
        """Adds or replaces a role; `rules` is None for a role that does not exist."""
        self.drop(role)
        keys = tuple(dict.fromkeys(_keys(rules)))
        self._keys[role] = keys
        for key in keys:
            self._found.setdefault(key, {})[role] = None

    def drop(self, role: Role) -> None:
        """Removes a role."""
        for key in self._keys.pop(role, ()):
            roles = self._found[key]
            del roles[role]
            if not roles:
                del self._found[key]

    def roles_for(self, info: RequestInfo) -> Iterator[Role]:
        """The roles that may allow a request, and those that do not exist; a role may come more than once."""
        yield from self._found.get(None, ())
        for verb in (info.verb, ALL):
            for resource in _resources(info):
                yield from self._found.get((verb, resource), ())


def _resources(info: RequestInfo) -> Iterable[str]:
    if not info.is_resource:
        return ("",)
    if info.subresource:
        return (f"{info.resource}/{info.subresource}", f"*/{info.subresource}", ALL)
    return (info.resource, ALL)


def _keys(rules: Sequence[PolicyRule] | None) -> Iterator[_Key | None]:
    if rules is None:
        yield None
    for rule in rules or ():
        resources = {*rule.resources, *([""] if rule.urls else ())}
        if len(rule.verbs) * len(resources) > _MOST_KEYS:
            yield None
        else:
            yield from ((verb, resource) for verb in rule.verbs for resource in resources)
