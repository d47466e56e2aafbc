"""The roles and bindings in force, kept up to date from the watch cache, and the rules that they grant to a user."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from gateway.access.rbac.index import MANY, RoleIndex
from gateway.access.rbac.rules import PolicyRule, compile_rules
from gateway.http import status
from gateway.http.request_info import RequestInfo
from gateway.http.user import User
from gateway.jsontypes import JsonObject
from gateway.validation.field import go_quote
from storage.cache import ResourceCache
from storage.entry import Entry
from storage.keys import namespace_and_name

GROUP = "rbac.authorization.k8s.io"
SERVICE_ACCOUNT = "system:serviceaccount:"

_Subject = tuple[bool, str]  # whether it is a group, and its name
_Key = tuple[str, str]  # namespace, name
_Place = tuple[str, _Subject]  # namespace ("" for cluster role bindings), and a subject with roles there
_MOST_INDEXES = 64
_MANY_GROUPS = 1000


class RbacResource(Enum):
    """The four RBAC resources, by their plurals."""

    ROLE = "roles"
    CLUSTER_ROLE = "clusterroles"
    BINDING = "rolebindings"
    CLUSTER_BINDING = "clusterrolebindings"


_ROLES = RbacResource.ROLE, RbacResource.CLUSTER_ROLE
_KINDS = {each.value: each for each in RbacResource}  # a call of the class takes ten times as long


@dataclass(frozen=True, slots=True)
class RoleRef:
    """The role that a binding names; `namespace` is "" for a cluster role."""

    kind: str
    namespace: str
    name: str

    def missing(self) -> str:
        """The error message for a role that does not exist. It names the kind, like kube-apiserver's informer cache."""
        return status.not_found(GROUP, self.kind.lower(), self.name).message


@dataclass(frozen=True, slots=True)
class RoleBinding:
    """A binding: its role, and its subjects in order, each with its text for the reason of a decision."""

    namespace: str
    name: str
    role: RoleRef
    subjects: tuple[tuple[_Subject, str], ...]

    def grants(self, user: User) -> str:
        """The reason of a decision: the binding, its role and the subject that is the user; "" for other users."""
        for (is_group, name), text in self.subjects:
            if name in user.groups if is_group else name == user.name:
                what = f"RoleBinding {go_quote(f'{self.name}/{self.namespace}')}" if self.namespace else ""
                what = what or f"ClusterRoleBinding {go_quote(self.name)}"
                return f"{what} of {self.role.kind} {go_quote(self.role.name)} to {text}"
        return ""


class RbacPolicy:
    """All roles and bindings. Listeners are called after each change, so that they clear cached decisions.

    Bindings are indexed by namespace and subject: a decision reads only those of its user.
    """

    name = "rbac"  # in logs and metrics

    def __init__(self) -> None:
        self._roles: dict[_Key, tuple[PolicyRule, ...]] = {}
        self._bindings: dict[_Key, RoleBinding] = {}
        self._granted: dict[_Place, dict[RoleRef, dict[str, RoleBinding]]] = {}
        self._indexes: dict[_Place, RoleIndex[RoleRef]] = {}
        self._listeners: list[Callable[[], None]] = []
        self.complete = asyncio.Event()  # cleared while the default roles are being made: decisions wait for them
        self.complete.set()
        self.lacking = ""  # why default roles could not be made, if decisions do not wait for them
        self.loaded = False  # whether the stored roles and bindings have been read

    def on_change(self, listener: Callable[[], None]) -> None:
        """Calls `listener` whenever a role or binding has changed."""
        self._listeners.append(listener)

    # the methods of a follower of the cache (storage/followers.py)

    def clear(self) -> None:
        for each in (self._roles, self._bindings, self._granted, self._indexes):
            each.clear()

    def take(self, resource: ResourceCache, entry: Entry) -> None:
        kind = _kind_of(resource)
        if kind in _ROLES:
            self._put_role(kind, *entry.derived(_role, _role))
        else:
            self._put_binding(*entry.derived(_binding, _binding))

    def lose(self, resource: ResourceCache, entry: Entry) -> None:
        self.drop(_kind_of(resource), *namespace_and_name(entry.key, resource.spec.prefix))

    def on_revision(self, revision: int) -> None:
        self.loaded = revision > 0
        for listener in self._listeners:
            listener()

    # one role or binding

    def put(self, kind: RbacResource, obj: JsonObject) -> None:
        """Adds a role or binding, or replaces the one of the same name."""
        if kind in _ROLES:
            self._put_role(kind, *_role(obj))
        else:
            self._put_binding(*_binding(obj))

    def _put_role(self, kind: RbacResource, key: _Key, rules: tuple[PolicyRule, ...]) -> None:
        self._roles[key] = rules
        if self._indexes:
            self._renew(kind, key)

    def _put_binding(self, key: _Key, binding: RoleBinding) -> None:
        self._unbind(key)
        self._bindings[key] = binding
        for subject, _ in binding.subjects:
            place = (key[0], subject)
            named = self._granted.setdefault(place, {}).setdefault(binding.role, {})
            named[binding.name] = binding
            if place in self._indexes:
                self._indexes[place].put(binding.role, self.rules(binding.role))

    def drop(self, kind: RbacResource, namespace: str, name: str) -> None:
        """Removes a role or binding."""
        if kind in _ROLES:
            self._roles.pop((namespace, name), None)
            self._renew(kind, (namespace, name))
        else:
            self._unbind((namespace, name))

    def _unbind(self, key: _Key) -> None:
        binding = self._bindings.pop(key, None)
        if binding is None:
            return
        for subject, _ in binding.subjects:
            place = (key[0], subject)
            by_role = self._granted.get(place, {})
            named = by_role.get(binding.role)
            if named is None:
                continue  # the subject was named twice
            named.pop(binding.name, None)
            if not named:
                del by_role[binding.role]
                if place in self._indexes:
                    self._indexes[place].drop(binding.role)
            if not by_role:
                del self._granted[place]
                self._indexes.pop(place, None)

    def _renew(self, kind: RbacResource, key: _Key) -> None:
        """Updates the indexes that contain a role."""
        role = RoleRef("Role" if kind is RbacResource.ROLE else "ClusterRole", *key)
        for index in self._indexes.values():
            if role in index:
                index.put(role, self.rules(role))

    def rules(self, role: RoleRef) -> tuple[PolicyRule, ...] | None:
        """The rules of a role; None if the role does not exist."""
        return self._roles.get((role.namespace, role.name))

    def granted(self, user: User, namespace: str) -> Iterator[tuple[dict[str, RoleBinding], RoleRef]]:
        """The user's roles: first the cluster-wide ones, then those of the namespace.

        Each comes with the bindings, by name, that bind it to one subject: the user's name or a group. A role that is
        bound to several subjects comes several times.
        """
        subjects = self._subjects(user)
        for scope in ("", namespace) if namespace else ("",):
            for subject in subjects:
                for role, named in self._granted.get((scope, subject), {}).items():
                    yield named, role

    def relevant(self, user: User, info: RequestInfo) -> Iterator[tuple[dict[str, RoleBinding], RoleRef]]:
        """The roles of `granted` that may allow a request, and those that do not exist."""
        subjects = self._subjects(user)
        for scope in ("", info.namespace) if info.namespace else ("",):
            for subject in subjects:
                by_role = self._granted.get((scope, subject))
                if by_role is None:
                    continue
                roles = by_role if len(by_role) <= MANY else self._index((scope, subject)).roles_for(info)
                for role in roles:
                    yield by_role[role], role

    def _subjects(self, user: User) -> list[_Subject]:
        """The subjects of a user: its name and groups. Of very many groups, only those that a binding names."""
        groups: Iterable[str] = user.groups
        if len(user.groups) > _MANY_GROUPS:
            bound = {name for _, (is_group, name) in self._granted if is_group}
            groups = filter(bound.__contains__, user.groups)
        return [(False, user.name), *((True, group) for group in groups)]

    def _index(self, place: _Place) -> RoleIndex[RoleRef]:
        index = self._indexes.get(place)
        if index is None:
            if len(self._indexes) >= _MOST_INDEXES:
                self._indexes.pop(next(iter(self._indexes)))
            index = self._indexes[place] = RoleIndex()
            for role in self._granted[place]:
                index.put(role, self.rules(role))
        return index

    def rules_for(self, user: User, namespace: str) -> tuple[list[PolicyRule], list[RoleRef]]:
        """All rules that apply to a user in a namespace, once for each binding, and the roles that do not exist."""
        found: list[PolicyRule] = []
        missing: list[RoleRef] = []
        seen: set[_Key] = set()
        for named, role in self.granted(user, namespace):
            new = {(each.namespace, each.name) for each in named.values()} - seen
            if not new:
                continue
            seen |= new
            rules = self.rules(role)
            if rules is None:
                missing.append(role)
            else:
                found += rules * len(new)
        return found, list(dict.fromkeys(missing))


def role_ref(binding: JsonObject, namespace: str) -> RoleRef:
    """The role of a binding in a namespace ("" for a cluster role binding)."""
    ref = binding.get("roleRef") or {}
    kind = ref.get("kind", "")
    return RoleRef(kind, namespace if kind == "Role" else "", ref.get("name", ""))


def aggregated(errors: list[str]) -> str:
    """Several errors as one text, in the format of apimachinery's aggregate."""
    return errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"


def _kind_of(resource: ResourceCache) -> RbacResource:
    return _KINDS[resource.spec.group_resource[1]]


def _key_of(obj: JsonObject) -> _Key:
    meta = obj["metadata"]
    return meta.get("namespace", ""), meta["name"]


def _role(obj: JsonObject) -> tuple[_Key, tuple[PolicyRule, ...]]:
    return _key_of(obj), compile_rules(obj.get("rules"))


def _binding(obj: JsonObject) -> tuple[_Key, RoleBinding]:
    namespace, name = key = _key_of(obj)
    subjects = []
    for subject in obj.get("subjects") or ():
        kind, who = subject.get("kind", ""), subject.get("name", "")
        match kind:
            case "User":
                subjects.append(((False, who), f"User {go_quote(who)}"))
            case "Group":
                subjects.append(((True, who), f"Group {go_quote(who)}"))
            case "ServiceAccount":
                home = subject.get("namespace") or namespace
                if home:
                    shown = f"ServiceAccount {go_quote(f'{who}/{home}')}"
                    subjects.append(((False, f"{SERVICE_ACCOUNT}{home}:{who}"), shown))
    return key, RoleBinding(namespace, name, role_ref(obj, namespace), tuple(subjects))
