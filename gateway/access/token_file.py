"""Static tokens of a CSV file ("Authenticating", "Static token file")."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from gateway.access.authentication import Authenticated, header_digest, with_authenticated
from gateway.http.user import User


class InvalidTokenFile(Exception):
    """A token file that cannot be read as kube-apiserver's CSV."""


class StaticTokens:
    """Authenticates static tokens. They are looked up by SHA-256: the time that this takes does not depend on the
    token.

    `headers` maps the digest of a whole Authorization header to its user.
    """

    def __init__(self, users: Mapping[str, User]) -> None:
        """`users` maps tokens to users, as `read_token_file` returns them."""
        self._users = {_digest(token): user for token, user in users.items()}
        self.headers = {header_digest(b"Bearer " + token.encode()): user for token, user in users.items()}

    async def authenticate(self, token: str, audiences: Sequence[str]) -> Authenticated | None:
        user = self._users.get(_digest(token))
        return None if user is None else Authenticated(user, tuple(audiences))


def _digest(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogateescape")).digest()


def read_token_file(path: Path) -> dict[str, User]:
    """Reads `token,user,uid[,"group1,group2"]` lines. Raises InvalidTokenFile, UnicodeDecodeError or OSError."""
    text = path.read_text(encoding="utf-8")
    if text.startswith("\ufeff"):
        raise InvalidTokenFile(f"{path}: it starts with a byte order mark; save it as UTF-8 without one")
    return parse_tokens(text, str(path))


def parse_tokens(text: str, source: str = "token file") -> dict[str, User]:
    """The users of a token file's text, by token, with the group system:authenticated. Raises InvalidTokenFile."""
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
        users[token] = with_authenticated(User(name, groups, uid))
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
