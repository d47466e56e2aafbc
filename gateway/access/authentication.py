"""Authentication: who sends a request (Kubernetes, "Authenticating": static token file, anonymous requests)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

from gateway.http.user import ANONYMOUS, AUTHENTICATED_GROUP, UNAUTHENTICATED_GROUP, User

ANONYMOUS_USER = User(ANONYMOUS, (UNAUTHENTICATED_GROUP,))


class InvalidTokenFile(Exception):
    """A token file that cannot be read as kube-apiserver's CSV."""


class Authenticator(Protocol):
    """Finds a request's user from its headers (names in lower case); None means 401."""

    def authenticate(self, headers: Mapping[bytes, bytes]) -> User | None: ...


class TokenAuthenticator:
    """Bearer tokens from a static table, and the anonymous user for requests without credentials where allowed."""

    def __init__(self, users: Mapping[str, User], anonymous: bool) -> None:
        """`users` maps tokens to users, as `read_token_file` returns them."""
        self._users = {token.encode(): user for token, user in users.items()}
        self._by_header = {b"Bearer " + token: user for token, user in self._users.items()}
        self._anonymous = ANONYMOUS_USER if anonymous else None

    def authenticate(self, headers: Mapping[bytes, bytes]) -> User | None:
        header = headers.get(b"authorization")
        if header is None:
            return self._anonymous
        user = self._by_header.get(header)
        return user if user is not None else self._unusual(header)

    def _unusual(self, header: bytes) -> User | None:
        """Odd spellings of the scheme; what is no bearer token at all counts as no credentials."""
        parts = header.strip().split(b" ", 2)
        if len(parts) < 2 or parts[0].lower() != b"bearer" or not parts[1]:
            return self._anonymous
        return self._users.get(parts[1])


def read_token_file(path: Path) -> dict[str, User]:
    """Reads `token,user,uid[,"group1,group2"]` lines; raises InvalidTokenFile or UnicodeDecodeError."""
    text = path.read_text(encoding="utf-8")
    if text.startswith("\ufeff"):
        raise InvalidTokenFile(f"{path}: it starts with a byte order mark; save it as UTF-8 without one")
    return parse_tokens(text, str(path))


def parse_tokens(text: str, source: str = "token file") -> dict[str, User]:
    """The users of a token file's text, by token; each is a member of system:authenticated too."""
    users: dict[str, User] = {}
    for number, row in _rows(text, source):
        if not row or row[0].startswith("#"):
            continue
        if len(row) < 3:
            raise InvalidTokenFile(f"{source}:{number}: expected 3 columns (token, user, uid) or 4, found {len(row)}")
        token, name, uid = row[:3]
        if not token:
            continue
        groups = tuple(group for group in row[3].split(",") if group) if len(row) > 3 else ()
        users[token] = User(name, with_authenticated(groups), uid)
    return users


def _rows(text: str, source: str) -> Iterator[tuple[int, list[str]]]:
    """The rows, each with the number of the line where it starts."""
    rows = csv.reader(io.StringIO(text, newline=""), skipinitialspace=True, strict=True)
    start = 1
    try:
        for row in rows:
            yield start, row
            start = rows.line_num + 1
    except csv.Error as error:
        reason = "a quote is not closed" if "unexpected end" in str(error) else str(error)
        raise InvalidTokenFile(f"{source}:{start}: {reason}") from None


def with_authenticated(groups: tuple[str, ...]) -> tuple[str, ...]:
    """Adds the group that every authenticated user is in."""
    return groups if AUTHENTICATED_GROUP in groups else (*groups, AUTHENTICATED_GROUP)
