"""Impersonation: acting as another user by Impersonate-* headers (Kubernetes, "User Impersonation", KEP-5284).

The requestor needs the rights of one mode of constrained impersonation, or the older plain verb "impersonate". Modes
are tried in kube-apiserver's order, but the mode that last succeeded for the requestor comes first. A refusal has the
message of the first mode that was tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic

from gateway.access.authorization import (
    NO_SNIFF,
    AuthorizationUndecided,
    Authorizer,
    asked_of_resource,
    forbidden,
    require,
    with_verb,
)
from gateway.access.impersonation_counts import CountingAuthorizer, count_attempt
from gateway.access.nodes.identity import NODE_PREFIX, NODES_GROUP
from gateway.access.service_accounts import account_groups, account_of
from gateway.http.escapes import text_of, unescaped, valid_escapes
from gateway.http.status import StatusError, bad_request
from gateway.http.user import (
    ANONYMOUS,
    AUTHENTICATED_GROUP,
    MASTERS_GROUP,
    UNAUTHENTICATED_GROUP,
    Extra,
    User,
    extra_of,
)
from gateway.kinds.attributes import Attributes
from gateway.memo import Memory
from gateway.validation.field import go_quote
from gateway.validation.names import is_dns1123_subdomain

NODE_NAME_KEY = "authentication.kubernetes.io/node-name"
_REVIEWS = "authentication.k8s.io"
_PREFIX = b"impersonate-"
_BEGINNING = b"\n" + _PREFIX  # the header names are joined by line ends, which no name contains
_USER, _GROUP, _UID, _EXTRA = (_PREFIX + name for name in (b"user", b"group", b"uid", b"extra-"))
_MANY = 4  # checks; for as many or more, the right to "*" is checked first
_LONGEST = 64 * 1024  # bytes of all impersonation headers together


def impersonates(headers: Mapping[bytes, bytes]) -> bool:
    """Whether a request has any Impersonate-* header."""
    return _BEGINNING in b"\n".join((b"", *headers))


class Impersonation:
    """Finds the user that a request is carried out as, and checks that the requestor may impersonate that user."""

    def __init__(self, authorizer: Authorizer, *, constrained: bool = True, refuses_nameless: bool = True) -> None:
        """`constrained`: whether the feature gate ConstrainedImpersonation is on; if not, only the plain verb counts.

        `refuses_nameless`: whether headers without a user name get a 400; otherwise Undecided is raised.
        """
        self._refuses_nameless = refuses_nameless
        self._counts, self._modes = constrained, _MODES if constrained else _MODES[-1:]
        self._authorizer = CountingAuthorizer(authorizer) if constrained else authorizer
        self._last: Memory[str, int] = Memory(1 << 20)  # the mode that was last allowed, by user

    async def user(self, headers: Iterable[tuple[bytes, bytes]], attributes: Attributes) -> User:
        """The user that the request of `attributes` is carried out as: its own user without Impersonate-* headers.

        Raises StatusError 403 if the requestor may not impersonate, 400 for headers that are too long. Headers without
        a user name raise StatusError 400 or Undecided.
        """
        wanted = _wanted(headers)
        if wanted is None:
            return attributes.user
        if not wanted.name:
            raise self._nameless(wanted)
        began, mode = monotonic(), None
        try:
            user, mode = await self._allowed(wanted, attributes)
        finally:
            if self._counts:
                count_attempt(mode, monotonic() - began)
        return user

    async def _allowed(self, wanted: User, attributes: Attributes) -> tuple[User, str]:
        """The impersonated user, and the name of the mode that allows it. Raises StatusError 403 if none does."""
        requestor = attributes.user.name
        last = self._last.get(requestor, -1)
        order = [last, *range(last), *range(last + 1, len(self._modes))] if last >= 0 else range(len(self._modes))
        refusal: StatusError | None = None
        for index in order:
            mode = self._modes[index]
            if not mode.applies(wanted, attributes.user):
                continue
            try:
                user = await self._in_mode(mode, wanted, attributes)
            except StatusError as error:
                refusal = refusal or error
                continue
            self._remember(requestor, index)
            return user, mode.name
        assert refusal is not None, "the last mode applies to everybody"
        raise refusal

    def _nameless(self, wanted: User) -> Exception:
        """The error for headers that have groups, uid or extra, but no user name."""
        if self._modes is _MODES:
            message = f"requested {_go_user(wanted)} without impersonating a user name"
        else:
            message = f"requested {_go_references(wanted)} without impersonating a user"
        if not self._refuses_nameless:
            return AuthorizationUndecided(message)
        error = bad_request(message)
        error.headers = (NO_SNIFF,)
        return error

    def constraint(self, requestor: str) -> str:
        """The verb that allowed the requestor's last impersonation; "" for the plain verb, or without one."""
        index = self._last.get(requestor, -1)
        return self._modes[index].verb if index >= 0 and self._modes[index].name else ""

    def _remember(self, requestor: str, index: int) -> None:
        if self._last.get(requestor) != index:
            self._last.keep(requestor, index, len(requestor))

    async def _in_mode(self, mode: ImpersonationMode, wanted: User, attributes: Attributes) -> User:
        requestor = attributes.user
        if mode.name == _ASSOCIATED:
            requestor = User(requestor.name, requestor.groups, requestor.uid, _node_keys(requestor))
        if mode.name:
            on = with_verb(attributes, f"impersonate-on:{mode.name}:{attributes.info.verb}")
            await require(self._authorizer, on._replace(user=requestor))
        checks = _Checks(self._authorizer, requestor, mode)
        groups = await checks.name(wanted)
        if wanted.uid:
            await checks.one(_REVIEWS, "uids", wanted.uid)
        await checks.groups(wanted.groups)
        await checks.extra(wanted.extra)
        return User(wanted.name, _complete(wanted.name, groups), wanted.uid, wanted.extra)


@dataclass(frozen=True, slots=True)
class ImpersonationMode:
    """A mode of impersonation: its name, "" for the plain verb; `applies` takes the wanted user and the requestor."""

    name: str
    applies: Callable[[User, User], bool]

    @property
    def verb(self) -> str:
        return f"impersonate:{self.name}" if self.name else "impersonate"

    @property
    def group(self) -> str:
        """The API group of users and groups in this mode."""
        return _REVIEWS if self.name else ""


class _Checks:
    """The checks of one mode for the wanted name, groups and extra. Methods raise StatusError 403."""

    def __init__(self, authorizer: Authorizer, requestor: User, mode: ImpersonationMode) -> None:
        self._authorizer, self._requestor, self._mode = authorizer, requestor, mode

    async def one(self, group: str, resource: str, name: str, namespace: str = "", subresource: str = "") -> None:
        await require(self._authorizer, self._asked(group, resource, name, namespace, subresource))

    def _asked(self, group: str, resource: str, name: str, namespace: str = "", subresource: str = "") -> Attributes:
        return asked_of_resource(
            self._requestor, self._mode.verb, group, resource, name, namespace=namespace, subresource=subresource
        )

    async def name(self, wanted: User) -> tuple[str, ...]:
        """Checks the wanted name; returns the groups that the impersonated user will have."""
        account, node = account_of(wanted.name), _node_of(wanted.name)
        if account is not None:
            namespace, name = account
            await self.one(self._mode.group, "serviceaccounts", name, namespace)
            return wanted.groups or account_groups(namespace)
        if node and self._mode.name:
            name = "*" if self._mode.name == _ASSOCIATED else node
            await self.one(self._mode.group, "nodes", name)
            return (NODES_GROUP,)
        await self.one(self._mode.group, "users", wanted.name)
        return wanted.groups

    async def groups(self, groups: tuple[str, ...]) -> None:
        group = self._mode.group
        if self._mode.name:
            if "" in groups:
                text = "impersonating the empty string group is not allowed"
                raise forbidden(self._asked(group, "groups", ""), text)
            if MASTERS_GROUP in groups:
                text = "impersonating the system:masters group is not allowed"
                raise forbidden(self._asked(group, "groups", MASTERS_GROUP), text)
            if len(groups) >= _MANY and await self._all(group, "groups", ""):
                return
        for name in dict.fromkeys(groups):
            await self.one(group, "groups", name)

    async def extra(self, extra: Extra) -> None:
        if self._mode.name and extra:
            for key, values in extra:
                if problem := _extra_problem(key, values):
                    raise forbidden(self._asked(_REVIEWS, "userextras", ""), problem)
            many = len(extra) >= _MANY or sum(len(values) for _, values in extra) >= _MANY
            if many and await self._all(_REVIEWS, "userextras", "*"):
                return
        for key, values in extra:
            for value in dict.fromkeys(values):
                await self.one(_REVIEWS, "userextras", value, subresource=key)

    async def _all(self, group: str, resource: str, subresource: str) -> bool:
        asked = self._asked(group, resource, "*", subresource=subresource)
        return (await self._authorizer.authorize(asked)).allowed


def _wanted(headers: Iterable[tuple[bytes, bytes]]) -> User | None:
    """The user that the headers describe; the name may be "". None without such headers. Raises StatusError 400."""
    name = uid = ""
    groups: list[str] = []
    extra: dict[str, list[str]] = {}
    size = 0
    for header, raw in headers:
        if not header.startswith(_PREFIX):
            continue
        size += len(header) + len(raw)
        if size > _LONGEST:
            raise bad_request(f"the headers of impersonation are longer than {_LONGEST} bytes together")
        value = text_of(raw)
        if header == _USER:
            name = name or value
        elif header == _UID:
            uid = uid or value
        elif header == _GROUP:
            groups.append(value)
        elif header.startswith(_EXTRA):
            extra.setdefault(_extra_key(header[len(_EXTRA) :]), []).append(value)
    if name or uid or groups or extra:
        return User(name, tuple(groups), uid, extra_of(extra))
    return None


def _extra_key(encoded: bytes) -> str:
    return unescaped(encoded) if valid_escapes(encoded) else text_of(encoded)


def _go_references(user: User) -> str:
    """The wanted groups, extra and uid, as Go's %v prints their object references."""
    found = [f"{{Group  {name}    }}" for name in user.groups]
    version = f"{_REVIEWS}/v1"
    found += [f"{{UserExtra  {value}  {version}  {key}}}" for key, values in user.extra for value in values]
    found += [f"{{UID  {user.uid}  {version}  }}"] if user.uid else []
    return f"[{' '.join(found)}]"


def _go_user(user: User) -> str:
    """A user without a name, as Go's %#v prints it."""
    extra = dict(user.extra)

    def strings(values: Sequence[str]) -> str:
        return "[]string{" + ", ".join(map(go_quote, values)) + "}"

    pairs = ", ".join(f"{go_quote(key)}:{strings(extra[key])}" for key in sorted(extra))
    shown_groups = strings(user.groups) if user.groups else "[]string(nil)"
    shown_extra = f"map[string][]string{{{pairs}}}" if extra else "map[string][]string(nil)"
    return f'&user.DefaultInfo{{Name:"", UID:{go_quote(user.uid)}, Groups:{shown_groups}, Extra:{shown_extra}}}'


def _complete(name: str, groups: tuple[str, ...]) -> tuple[str, ...]:
    """The groups, with system:authenticated added, or system:unauthenticated for the anonymous user."""
    if name == ANONYMOUS:
        return groups if UNAUTHENTICATED_GROUP in groups else (*groups, UNAUTHENTICATED_GROUP)
    if UNAUTHENTICATED_GROUP in groups or AUTHENTICATED_GROUP in groups:
        return groups
    return (*groups, AUTHENTICATED_GROUP)


def _extra_problem(key: str, values: tuple[str, ...]) -> str:
    if not key:
        return "impersonating the empty string key in extra is not allowed"
    domain, slash, path = key.partition("/")
    if not slash or not path or is_dns1123_subdomain(domain):
        return f"impersonating an invalid key in extra is not allowed: {_path_problem(key, domain, slash, path)}"
    if key != key.lower():
        return f"impersonating a non-lowercase key in extra is not allowed: {go_quote(key)}"
    if "" in values:
        return "impersonating the empty string value in extra is not allowed"
    return ""


def _path_problem(key: str, domain: str, slash: str, path: str) -> str:
    if not slash or not path or not domain:
        text = 'must be a domain-prefixed path (such as "acme.io/foo")'
        return f"extra.key: Invalid value: {go_quote(key)}: {text}"
    problems = is_dns1123_subdomain(domain)
    return f"extra.key: Invalid value: {go_quote(domain)}: {problems[0]}"


def _node_of(name: str) -> str:
    """The node's name in the user name system:node:NAME; "" for other user names."""
    node = name.removeprefix(NODE_PREFIX) if name.startswith(NODE_PREFIX) else ""
    return "" if not node or is_dns1123_subdomain(node) else node


def _only_name(user: User) -> bool:
    return not (user.uid or user.groups or user.extra)


def _node_keys(user: User) -> Extra:
    keys = tuple(sorted(key for key, _ in user.extra))
    return (("authentication.kubernetes.io/associated-node-keys", keys),)


def _is_associated(wanted: User, requestor: User) -> bool:
    node = _node_of(wanted.name)
    if not (_only_name(wanted) and node and account_of(requestor.name)):
        return False
    return dict(requestor.extra).get(NODE_NAME_KEY) == (node,)


_ASSOCIATED = "associated-node"
_MODES = (
    ImpersonationMode(_ASSOCIATED, _is_associated),
    ImpersonationMode("arbitrary-node", lambda wanted, _: _only_name(wanted) and bool(_node_of(wanted.name))),
    ImpersonationMode("serviceaccount", lambda wanted, _: _only_name(wanted) and account_of(wanted.name) is not None),
    ImpersonationMode("user-info", lambda wanted, _: not _node_of(wanted.name) and account_of(wanted.name) is None),
    ImpersonationMode("", lambda wanted, requestor: True),
)
