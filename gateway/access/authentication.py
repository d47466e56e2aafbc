"""Authentication: who sends a request (Kubernetes, "Authenticating").

Credentials are tried in kube-apiserver's order: headers of a front proxy, client certificate, bearer token. A request
without credentials is anonymous, if the settings allow that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Protocol, TypeVar

from gateway.access.spent_headers import token_among_protocols
from gateway.http.client_chain import ClientChain
from gateway.http.user import ANONYMOUS, AUTHENTICATED_GROUP, UNAUTHENTICATED_GROUP, User
from gateway.time_limits import in_thread

ANONYMOUS_USER = User(ANONYMOUS, (UNAUTHENTICATED_GROUP,))
INVALID_TOKEN = "invalid bearer token"
EXTRA_SPACE = "the provided Authorization header contains extra space before the bearer token, and is ignored"

_LONGEST_ON_LOOP = 16 << 10  # characters: PyJWT iterates over them in Python, several times, for 0.1 us each

Headers = Sequence[tuple[bytes, bytes]]
T = TypeVar("T")


class InvalidCredentials(Exception):
    """The credentials are of a known kind, but not valid; the message says why."""


@dataclass(frozen=True, slots=True)
class Authenticated:
    """The user of a token, and the audiences for which the token is valid, out of those that were asked for."""

    user: User
    audiences: tuple[str, ...]


async def decoded(token: str, work: Callable[[], T]) -> T:
    """Calls `work`, which reads a JSON web token, and returns its result. A long token is read in a thread, so that it
    does not block the event loop.
    """
    return work() if len(token) <= _LONGEST_ON_LOOP else await in_thread(work)


class TokenAuthenticator(Protocol):
    """Authenticates one kind of bearer token."""

    async def authenticate(self, token: str, audiences: Sequence[str]) -> Authenticated | None:
        """The user of the token; None for a token of another kind. Raises InvalidCredentials."""
        ...


class AudienceAgnostic:
    """Wraps an authenticator of tokens that name no audience: they are valid for the API server's audiences only."""

    def __init__(self, tokens: TokenAuthenticator, audiences: Sequence[str]) -> None:
        """`audiences` are the API server's."""
        self._tokens, self._audiences = tokens, frozenset(audiences)

    async def authenticate(self, token: str, audiences: Sequence[str]) -> Authenticated | None:
        """The user of the token, for the API server's own among `audiences`; None if `audiences` has none of them."""
        common = tuple(each for each in audiences if each in self._audiences)
        if audiences and not common:
            return None
        return await self._tokens.authenticate(token, common)


class RequestAuthenticator(Protocol):
    """Authenticates by the client certificate, or by headers that count only together with a certain certificate."""

    def authenticate(self, chain: ClientChain, headers: Headers) -> User | None:
        """The user of the request; None if this authenticator does not know. Raises InvalidCredentials."""
        ...


def header_digest(header: bytes) -> bytes:
    """By what an Authorization header is looked up: the time that this takes does not depend on the token.

    Each request needs one. OpenSSL's digests cost several times as much, since a call of theirs looks up and allocates.
    """
    return blake2b(header).digest()


class Authenticator:
    """Finds a request's user."""

    def __init__(
        self,
        tokens: Sequence[TokenAuthenticator],
        audiences: Sequence[str],
        *,
        certificates: Sequence[RequestAuthenticator] = (),
        anonymous: bool = True,
        known: Mapping[bytes, User] | None = None,
    ) -> None:
        """`audiences` are the API server's own (--api-audiences).

        `known` maps the digest of a whole Authorization header to its user. It is a shortcut: the first of `tokens`
        gives the same answer, but is slower.
        """
        self._anonymous_paths: frozenset[str] | None = None
        self._known = known or {}
        self._tokens, self._certificates, self.audiences = tuple(tokens), tuple(certificates), tuple(audiences)
        self._anonymous = ANONYMOUS_USER if anonymous else None

    def add(self, tokens: TokenAuthenticator) -> None:
        """Adds an authenticator of tokens."""
        self._tokens = (*self._tokens, tokens)

    def add_certificates(self, certificates: RequestAuthenticator) -> None:
        """Adds an authenticator of client certificates."""
        self._certificates = (*self._certificates, certificates)

    def of_certificate(self, chain: ClientChain, headers: Headers) -> User | None:
        """The user of a client certificate; None if it names none. Raises InvalidCredentials if it is not trusted."""
        refused: InvalidCredentials | None = None
        for each in self._certificates:
            try:
                user = each.authenticate(chain, headers)
            except InvalidCredentials as error:
                refused = error
                continue
            if user is not None:
                return with_authenticated(user)
        if refused is not None:
            raise refused
        return None

    def let_anonymous_in(self, anonymous: bool, paths: frozenset[str] | None = None) -> None:
        """Sets whether anonymous requests are allowed, and on which paths; `paths` None means on all paths."""
        self._anonymous, self._anonymous_paths = ANONYMOUS_USER if anonymous else None, paths

    def known(self, headers: Mapping[bytes, bytes], chain: ClientChain | None) -> User | None:
        """The user of a static token, without waiting. None if the header is another one, or if the client has shown a
        certificate; `authenticate` has to decide then.
        """
        header = headers.get(b"authorization")
        return None if header is None or chain is not None else self._known.get(header_digest(header))

    async def authenticate(
        self,
        headers: Mapping[bytes, bytes],
        all_headers: Headers = (),
        chain: ClientChain | None = None,
        path: str = "",
    ) -> User | None:
        """The user of a request; None means 401.

        `headers` maps each name, in lower case, to its first value. `chain` has the client's certificates of the TLS
        handshake.
        """
        user = self.known(headers, chain)
        if user is not None:
            return user
        header = headers.get(b"authorization")
        refused = False
        if chain is not None:
            try:
                user = self.of_certificate(chain, all_headers)
            except InvalidCredentials:
                refused = True
            if user is not None:
                return user
        tokens = [] if header is None or (token := bearer_token(header)) is None else [token]
        try:
            if (token := token_among_protocols(headers, all_headers)) is not None:
                tokens.append(token)
        except ValueError:
            refused = True
        for token in tokens:
            with suppress(InvalidCredentials):
                return (await self.review(token, self.audiences)).user
        return None if refused or tokens else self._nobody(path)

    def _nobody(self, path: str) -> User | None:
        paths = self._anonymous_paths
        return self._anonymous if paths is None or path in paths else None

    async def review(self, token: str, audiences: Sequence[str]) -> Authenticated:
        """The user of a token, and the ones of `audiences` for which it is valid. Raises InvalidCredentials."""
        errors: dict[str, None] = {}
        for each in self._tokens:
            try:
                found = await each.authenticate(token, audiences)
            except InvalidCredentials as error:
                errors[str(error)] = None
                continue
            if found is not None:
                return replace(found, user=with_authenticated(found.user))
        if not errors:
            raise InvalidCredentials(INVALID_TOKEN)
        raise InvalidCredentials(f"[{INVALID_TOKEN}, {', '.join(errors)}]")


def bearer_token(header: bytes) -> str | None:
    """The token of an Authorization header; None for another scheme than Bearer, as if there were no credentials."""
    parts = header.strip().split(b" ", 2)
    if len(parts) < 2 or parts[0].lower() != b"bearer" or not parts[1]:
        return None
    return parts[1].decode("utf-8", "surrogateescape")


def has_extra_space(header: bytes) -> bool:
    """Whether an Authorization header has more than one space before its bearer token. Such a header is ignored."""
    parts = header.strip().split(b" ", 2)
    return len(parts) == 3 and parts[0].lower() == b"bearer" and not parts[1]


def with_authenticated(user: User) -> User:
    """The user with the group system:authenticated added; system:anonymous does not get it."""
    if user.name == ANONYMOUS or AUTHENTICATED_GROUP in user.groups or UNAUTHENTICATED_GROUP in user.groups:
        return user
    return replace(user, groups=(*user.groups, AUTHENTICATED_GROUP))
