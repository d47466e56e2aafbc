"""An index of the rules of a user with very many roles, by verb and resource, so that a decision does not look at all.

An index is made when such a user is first asked about, and kept up to date with roles and bindings from then on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, TypeVar

from gateway.access.rbac.rules import ALL, Rule
from gateway.http.request_info import RequestInfo

MANY = 32  # roles; of fewer each is looked at
_MOST_KEYS = 64  # of one rule; what has more is always looked at

Role = TypeVar("Role")
_Key = tuple[str, str]  # verb and resource; "" is paths


class RoleIndex(Generic[Role]):
    """The roles of one subject in one namespace."""

    def __init__(self) -> None:
        self._keys: dict[Role, tuple[_Key | None, ...]] = {}  # None: always looked at
        self._found: dict[_Key | None, dict[Role, None]] = {}

    def __contains__(self, role: Role) -> bool:
        return role in self._keys

    def put(self, role: Role, rules: Sequence[Rule] | None) -> None:
        """Takes a role in place of what it was; `rules` is None for one that is not there."""
        self.drop(role)
        keys = tuple(dict.fromkeys(_keys(rules)))
        self._keys[role] = keys
        for key in keys:
            self._found.setdefault(key, {})[role] = None

    def drop(self, role: Role) -> None:
        """Forgets a role."""
        for key in self._keys.pop(role, ()):
            roles = self._found[key]
            del roles[role]
            if not roles:
                del self._found[key]

    def roles_for(self, info: RequestInfo) -> Iterator[Role]:
        """The roles that may allow a request, and those that are not there; some may come more than once."""
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


def _keys(rules: Sequence[Rule] | None) -> Iterator[_Key | None]:
    if rules is None:
        yield None
    for rule in rules or ():
        resources = {*rule.resources, *([""] if rule.urls else ())}
        if len(rule.verbs) * len(resources) > _MOST_KEYS:
            yield None
        else:
            yield from ((verb, resource) for verb in rule.verbs for resource in resources)
