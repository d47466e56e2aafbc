"""The user of a request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gateway.jsontypes import JsonObject

ANONYMOUS = "system:anonymous"
UNAUTHENTICATED_GROUP = "system:unauthenticated"
AUTHENTICATED_GROUP = "system:authenticated"
MASTERS_GROUP = "system:masters"

_TEXT = 60  # bytes of memory of a str besides its characters

Extra = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class User:
    """The user that authentication found, like apiserver's `user.Info`; hashable. `extra` is sorted by key."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Extra = ()
    _hash: int = field(init=False, repr=False, compare=False, default=0)  # computed once: each request needs it often

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.name, self.groups)))

    def __hash__(self) -> int:
        return self._hash

    @property
    def size(self) -> int:
        """The memory of the user in bytes, roughly."""
        found = 200 + len(self.name) + len(self.uid)
        for group in self.groups:
            found += _TEXT + len(group)
        for key, values in self.extra:
            found += _TEXT + len(key)
            for value in values:
                found += _TEXT + len(value)
        return found


ITSELF = User("system:apiserver", (MASTERS_GROUP,))
"""The user of the server's own writes."""


def extra_of(values: Mapping[str, Sequence[str] | None]) -> Extra:
    """A mapping of lists as a user's extra, sorted by key; null counts as an empty list."""
    return tuple((key, tuple(values[key] or ())) for key in sorted(values))


def user_info(user: User) -> JsonObject:
    """A user as UserInfo of authentication.k8s.io/v1."""
    value: JsonObject = {"username": user.name, "uid": user.uid, "groups": list(user.groups)}
    value["extra"] = {key: list(values) for key, values in user.extra}
    return {key: found for key, found in value.items() if found}
