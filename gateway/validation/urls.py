"""URLs and paths of webhooks. Parses URLs as Go's net/url does, with its errors."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gateway.validation.field import FieldError, go_quote, invalid, required
from gateway.validation.names import is_dns1123_subdomain, range_message

_has_control = re.compile(r"[\x00-\x1f\x7f]").search
_has_bad_escape = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}", re.DOTALL).search
_scheme = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*(?=:)").match
_has_bad_host_char = re.compile("[^A-Za-z0-9\\-_.~!$&'()*+,;=:\\[\\]<>\"\x80-\U0010ffff]").search
_is_user = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*").fullmatch
_is_port = re.compile(r":[0-9]*").fullmatch

FORM = "; desired format: https://host[/path]"


class UrlError(ValueError):
    """A text is not a valid URL; the message is Go's."""


@dataclass(frozen=True, slots=True)
class Url:
    scheme: str
    user: str | None
    host: str
    path: str
    query: str
    fragment: str


def parse_url(text: str) -> Url:
    """Splits a URL as Go's net/url does. Raises UrlError."""
    try:
        return _parse(text)
    except UrlError as error:
        raise UrlError(f"parse {go_quote(text)}: {error}") from None


def _parse(text: str) -> Url:
    rest, _, fragment = text.partition("#")
    if _has_control(text):
        raise UrlError("net/url: invalid control character in URL")
    if rest.startswith(":"):
        raise UrlError("missing protocol scheme")
    scheme = _scheme(rest)
    name = scheme[0].lower() if scheme else ""
    rest = rest[len(name) + 1 :] if scheme else rest
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if name:
            return Url(name, None, "", "", query, fragment)
        if ":" in rest.partition("/")[0]:
            raise UrlError("first path segment in URL cannot contain colon")
    user, host = None, ""
    if rest.startswith("//") and (name or not rest.startswith("///")):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
        user, host = _authority(authority)
    for part in (rest, fragment):
        _check_escapes(part)
    return Url(name, user, host, rest, query, fragment)


def _check_escapes(part: str) -> None:
    if found := _has_bad_escape(part):
        raise UrlError(f"invalid URL escape {go_quote(found[0])}")


def _authority(authority: str) -> tuple[str | None, str]:
    user, at, host = authority.rpartition("@")
    if host.startswith("["):
        end = host.rfind("]")
        if end < 0:
            raise UrlError("missing ']' in host")
        port = host[end + 1 :]
    else:
        port = host[host.rfind(":") :] if ":" in host else ""
    if port and not _is_port(port):
        raise UrlError(f"invalid port {go_quote(port)} after host")
    if found := re.search("%(?!25).{0,2}", host):
        raise UrlError(f"invalid URL escape {go_quote(found[0])}")
    if found := _has_bad_host_char(host):
        raise UrlError(f"invalid character {go_quote(found[0])} in host name")
    if at and not _is_user(user):
        raise UrlError("net/url: invalid userinfo")
    return (user if at else None), host


def validate_webhook_url(text: str, path: str) -> list[FieldError]:
    """The text must be an https URL without user, fragment and query."""
    try:
        url = parse_url(text)
    except UrlError as error:
        return [required(path, f"url must be a valid URL: {error}{FORM}")]
    found = []
    if url.scheme != "https":
        found.append(invalid(path, url.scheme, f"'https' is the only allowed URL scheme{FORM}"))
    if not url.host:
        found.append(invalid(path, url.host, f"host must be specified{FORM}"))
    if url.user is not None:
        found.append(invalid(path, url.user, "user information is not permitted in the URL"))
    if url.fragment:
        found.append(invalid(path, url.fragment, "fragments are not permitted in the URL"))
    if url.query:
        found.append(invalid(path, url.query, "query parameters are not permitted in the URL"))
    return found


def validate_webhook_service(
    name: str, namespace: str, target: str | None, port: int, path: str, *, swapped: bool = False
) -> list[FieldError]:
    """Checks a service reference. `swapped`: errors about the name have the path of the namespace, and the reverse.

    kube-apiserver mixes up both paths for admission webhooks.
    """
    first, second = (namespace, name) if swapped else (name, namespace)
    found = [required(f"{path}.{key}") for key, value in (("name", first), ("namespace", second)) if not value]
    if not 1 <= port <= 65535:
        found.append(invalid(f"{path}.port", port, f"port is not valid: {range_message(1, 65535)}"))
    return found + _target(target or "", f"{path}.path")


def _target(target: str, path: str) -> list[FieldError]:
    if target in ("", "/"):
        return []
    if target == "//":
        return [invalid(path, target, "segment[0] may not be empty")]
    found = [] if target.startswith("/") else [invalid(path, target, "must start with a '/'")]
    for i, step in enumerate(target[1:].removesuffix("/").split("/")):
        if not step:
            found.append(invalid(path, target, f"segment[{i}] may not be empty"))
        else:
            found += [invalid(path, target, f"segment[{i}]: {message}") for message in is_dns1123_subdomain(step)]
    return found
