"""The interface to extension servers for controllers: their objects in a namespace, owners and dependents, counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from gateway.http.user import User
from gateway.jsontypes import JsonObject
from storage.entry import Change


@dataclass(slots=True)
class Left:
    """What is left of a namespace at other servers, after they were asked to delete it."""

    resources: Counter[str] = field(default_factory=Counter)  # by "things.example.com"
    finalizers: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


class Foreign(Protocol):
    """Knows other servers."""

    def undiscovered(self) -> list[str]:
        """The group versions ("group/version") of which their servers do not tell what they serve, sorted."""
        ...

    async def empty(self, namespace: str, user: User) -> Left:
        """Deletes everything that extension servers have in a namespace, in a user's name."""
        ...


class ForeignError(Exception):
    """An extension server could not be asked, or refused; the message says why."""


@dataclass(frozen=True, slots=True)
class ForeignKind:
    """A kind of objects of another server, in one version."""

    group: str
    version: str
    kind: str
    resource: str
    namespaced: bool
    verbs: frozenset[str]

    @property
    def api_version(self) -> str:
        """As objects have it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def prefix(self) -> bytes:
        """What the keys begin with by which controllers name its objects: `things.example.com/NAMESPACE/NAME`.

        Keys of etcd begin with a slash.
        """
        return f"{self.resource}.{self.group}/".encode()

    def key(self, namespace: str, name: str) -> bytes:
        """The key of an object; `namespace` is "" for what is in none."""
        return self.prefix + (f"{namespace}/{name}" if namespace else name).encode()


class ForeignFollower(Protocol):
    """Who is told of objects of other servers. A kind is named by its prefix."""

    def follows(self, prefix: bytes) -> bool:
        """Whether it wants to be told of a kind."""
        ...

    def begin(self, prefix: bytes, keys: set[bytes]) -> None:
        """Of a kind exactly these objects are there, as a list has told; none where it is not followed any more."""
        ...

    def change(self, prefix: bytes, change: Change) -> None:
        """A change of an object, or one that is there. Its entry has the metadata alone."""
        ...


class ForeignObjects(Protocol):
    """The objects of extension servers, of which only the metadata are looked at.

    Where this process follows a kind (`--controllers`, and only in one process), it knows which objects there are.
    """

    def kind(self, api_version: str, kind: str) -> ForeignKind | None:
        """What another server is known to serve under this name; None for nothing."""
        ...

    def followed(self) -> Collection[ForeignKind]:
        """The kinds that can be followed, each in one version."""
        ...

    @property
    def complete(self) -> bool:
        """Whether all objects of these kinds were listed once."""
        ...

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Calls a function whenever these kinds change; the returned function ends that."""
        ...

    def holds(self, kind: ForeignKind, namespace: str, name: str, uid: str) -> bool:
        """Whether an object was there when its server was last heard of, and was not being deleted."""
        ...

    async def places(self, kind: ForeignKind, names: Collection[str], uids: Collection[str]) -> dict[str, str]:
        """By uid, the namespaces of those known objects that have one of the names and one of the uids."""
        ...

    def count(self, group: str, resource: str, namespace: str) -> int | None:
        """How many objects a namespace has, of a resource that quotas count; None where that is not known."""
        ...

    async def run(self, followers: Sequence[ForeignFollower], user: User) -> None:
        """Follows all kinds in a user's name, until cancelled."""
        ...

    async def metadata(self, kind: ForeignKind, namespace: str, name: str, user: User) -> JsonObject | None:
        """The metadata of an object as its server has it now; None where there is none. Raises ForeignError."""
        ...

    async def patch(self, kind: ForeignKind, namespace: str, name: str, metadata: JsonObject, user: User) -> bool:
        """Merges fields into an object's metadata; False where there is none. Raises ForeignError."""
        ...

    async def delete(self, kind: ForeignKind, namespace: str, name: str, options: JsonObject, user: User) -> bool:
        """Deletes an object by DeleteOptions; False where there was none. Raises ForeignError."""
        ...
