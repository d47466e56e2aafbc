"""Kubernetes' URL library."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote, unquote_plus

from gateway.cel.values import EvaluationError, StringList, register
from gateway.validation.field import go_quote
from gateway.validation.urls import Url, UrlError, parse_url

register(Url, "kubernetes.URL")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_SAFE_IN_PATH = "/$&+,;=:@~!'()*[]%"


def _request_uri(text: str) -> Url:
    """Parses an absolute URL or path as Go's ParseRequestURI does. Raises UrlError."""
    if not text:
        raise UrlError('parse "": empty url')
    if text == "*":
        return Url("", None, "", "*", "", "")
    url = parse_url(text.partition("#")[0] or text)
    if not url.scheme and not text.startswith("/"):
        raise UrlError(f"parse {go_quote(text)}: invalid URI for request")
    return url


def url(text: str) -> Url:
    """Parses an absolute URL or path. Raises EvaluationError."""
    try:
        _request_uri(text)
        return parse_url(text)
    except UrlError as error:
        raise EvaluationError(f"URL parse error during conversion from string: {error}") from None


def is_url(text: str) -> bool:
    """Whether a text is an absolute URL or path."""
    return not url_problem(text)


def url_problem(text: str) -> str:
    """The error for a text that is not an absolute URL or path; "" if it is one."""
    try:
        _request_uri(text)
    except UrlError as error:
        return str(error)
    return ""


def _hostname(of: Url) -> str:
    host = of.host
    if host.startswith("["):
        return host[1 : host.rfind("]")]
    return host.rpartition(":")[0] if ":" in host else host


def _port(of: Url) -> str:
    rest = of.host[of.host.rfind("]") + 1 :]
    return rest.rpartition(":")[2] if ":" in rest else ""


def _escaped_path(of: Url) -> str:
    return quote(of.path, safe=_SAFE_IN_PATH) if of.path != unquote(of.path) or " " in of.path else _encoded(of.path)


def _encoded(path: str) -> str:
    return quote(path, safe="/$&+,;=:@~!'()*[]")


def _query(of: Url) -> dict[str, StringList]:
    found = dict[str, StringList]()
    for pair in of.query.split("&"):
        if pair and ";" not in pair and not _BAD_ESCAPE.search(pair):
            name, _, value = pair.partition("=")
            found.setdefault(unquote_plus(name), StringList()).append(unquote_plus(value))
    return found


OVERLOADS: dict[str, Callable[..., Any]] = {
    "string_to_url": url,
    "is_url_string": is_url,
    "url_get_scheme": lambda of: of.scheme,
    "url_get_host": lambda of: of.host,
    "url_get_hostname": _hostname,
    "url_get_port": _port,
    "url_get_escaped_path": _escaped_path,
    "url_get_query": _query,
}
