"""Authorization: whether a user may make a request (Kubernetes, "Authorization overview")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from gateway.http import status
from gateway.http.escapes import html_escaped
from gateway.http.request_info import RequestInfo
from gateway.http.status import StatusError, shown
from gateway.http.user import MASTERS_GROUP, User
from gateway.kinds.attributes import Attributes
from gateway.validation.field import go_quote

SIGNERS_GROUP = "certificates.k8s.io"
NO_SNIFF = (b"x-content-type-options", b"nosniff")
"""A header that kube-apiserver sends with each 403."""


class Decision(Enum):
    """An authorizer's answer. After NO_OPINION the next authorizer is asked; after the last, the request is refused."""

    ALLOW = "allow"
    DENY = "deny"
    NO_OPINION = "no opinion"

    __hash__ = object.__hash__  # there is one of each; Enum's own hash is computed in Python, for each request


@dataclass(frozen=True, slots=True)
class Verdict:
    """A decision, its reason, and the errors of the authorizers, "" for none."""

    decision: Decision
    reason: str = ""
    error: str = ""

    @property
    def allowed(self) -> bool:
        return self.decision is Decision.ALLOW


ALLOWED = Verdict(Decision.ALLOW)
NO_OPINION = Verdict(Decision.NO_OPINION)


class Authorizer(Protocol):
    """Decides by attributes: the user and the request info."""

    def known(self, attributes: Attributes) -> Verdict | None:
        """The verdict, if it is known without waiting; None means that `authorize` has to be called."""
        ...

    async def authorize(self, attributes: Attributes) -> Verdict: ...


class AlwaysAllow:
    """--authorization-mode=AlwaysAllow."""

    def known(self, attributes: Attributes) -> Verdict | None:
        return ALLOWED

    async def authorize(self, attributes: Attributes) -> Verdict:
        return ALLOWED


class AlwaysDeny:
    """--authorization-mode=AlwaysDeny."""

    def known(self, attributes: Attributes) -> Verdict | None:
        return None

    async def authorize(self, attributes: Attributes) -> Verdict:
        return Verdict(Decision.NO_OPINION, "Everything is forbidden.")


class Masters:
    """Allows everything to the group system:masters; asks the other authorizers in turn about all other users."""

    def __init__(self, others: Sequence[Authorizer], modes: Sequence[str] = ()) -> None:
        """`modes` are the authorization modes of the others, in the same order."""
        self.replace(others, modes)

    def replace(self, others: Sequence[Authorizer], modes: Sequence[str], names: Sequence[str] = ()) -> None:
        """Replaces the other authorizers. With `names`, each reason of a refusal begins with its authorizer's name."""
        self._others, self.modes = tuple(others), tuple(modes)
        self._prefixes = [f"{name}: " for name in names] or [""] * len(others)
        self._alone = len(self._others) == 1 and not names
        self._known = self._others[0].known if self._alone else self._known_of_many

    def known(self, attributes: Attributes) -> Verdict | None:
        if MASTERS_GROUP in attributes.user.groups:
            return ALLOWED
        return self._known(attributes)

    def _known_of_many(self, attributes: Attributes) -> Verdict | None:
        for other in self._others:
            verdict = other.known(attributes)
            if verdict is None or verdict.decision is not Decision.NO_OPINION:
                return verdict
        return None

    async def authorize(self, attributes: Attributes) -> Verdict:
        if MASTERS_GROUP in attributes.user.groups:
            return ALLOWED
        others = self._others
        if self._alone:
            return await others[0].authorize(attributes)
        reasons, errors = [], []
        for other, prefix in zip(others, self._prefixes, strict=True):
            verdict = await other.authorize(attributes)
            if verdict.decision is not Decision.NO_OPINION:
                return verdict
            reasons += [prefix + verdict.reason] if verdict.reason else []
            errors += [verdict.error] if verdict.error else []
        return Verdict(Decision.NO_OPINION, "\n".join(reasons), _aggregated(errors))


def _aggregated(errors: Sequence[str]) -> str:
    different = list(dict.fromkeys(errors))
    return f"[{', '.join(different)}]" if len(different) > 1 else "".join(different)


class AuthorizationUndecided(Exception):
    """An authorizer failed, and no other allows the request; the message says why."""


async def require_of_request(authorizer: Authorizer, attributes: Attributes) -> None:
    """Raises StatusError 403 for a request that is not allowed, Undecided if an authorizer failed."""
    require_verdict(authorizer.known(attributes) or await authorizer.authorize(attributes), attributes)


def require_verdict(verdict: Verdict, attributes: Attributes) -> None:
    """Raises like `require_of_request`, unless the verdict is ALLOW."""
    if verdict.decision is not Decision.ALLOW:
        if verdict.error:
            raise AuthorizationUndecided(verdict.error)
        raise forbidden(attributes, verdict.reason)


async def require(authorizer: Authorizer, attributes: Attributes) -> None:
    """Raises StatusError 403 unless the authorizer allows it, also if an authorizer failed."""
    verdict = authorizer.known(attributes) or await authorizer.authorize(attributes)
    if verdict.decision is not Decision.ALLOW:
        raise forbidden(attributes, verdict.reason)


def asked_of_resource(
    user: User,
    verb: str,
    group: str,
    resource: str,
    name: str,
    *,
    namespace: str = "",
    subresource: str = "",
    field_selector: str = "",
    label_selector: str = "",
) -> Attributes:
    """The attributes of a question that no request asks: whether a user may `verb` a resource."""
    info = RequestInfo(
        verb,
        "",
        is_resource=True,
        group=group,
        version="*",
        resource=resource,
        subresource=subresource,
        namespace=namespace,
        name=name,
        field_selector=field_selector,
        label_selector=label_selector,
    )
    return Attributes(user, info)


async def may_for_signer(authorizer: Authorizer, user: User, signer: str, verb: str) -> bool:
    """Whether a user may `verb` ("approve", "attest", "sign") for a signer: by its name, or by "DOMAIN/*"."""
    for name in (signer, f"{signer.partition('/')[0]}/*"):
        if (await authorizer.authorize(asked_of_resource(user, verb, SIGNERS_GROUP, "signers", name))).allowed:
            return True
    return False


def with_verb(attributes: Attributes, verb: str) -> Attributes:
    """The attributes of the same request with another verb."""
    return Attributes(attributes.user, attributes.info._replace(verb=verb))


def forbidden(attributes: Attributes, reason: str) -> StatusError:
    """The error 403 with kube-apiserver's message; `reason`, the authorizer's, is appended unless it is ""."""
    info = attributes.info
    message = html_escaped(_message(attributes)) + (f": {reason}" if reason else "")
    if info.is_resource:
        error = status.forbidden(info.group, info.resource, info.name, message)
    else:
        error = StatusError(403, "Forbidden", f"forbidden: {message}", {})
    error.headers = (NO_SNIFF,)
    return error


def _message(attributes: Attributes) -> str:
    info = attributes.info
    subject = f"User {go_quote(attributes.user.name)} cannot {info.verb}"
    if not info.is_resource:
        return f"{subject} path {go_quote(shown(info.path))}"
    resource = f"{shown(info.resource)}/{shown(info.subresource)}" if info.subresource else shown(info.resource)
    scope = f"in the namespace {go_quote(shown(info.namespace))}" if info.namespace else "at the cluster scope"
    return f"{subject} resource {go_quote(resource)} in API group {go_quote(shown(info.group))} {scope}"
