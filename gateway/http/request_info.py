"""RequestInfo: verb, resource, namespace and name of a request, from its method, path and query (API Concepts,
"Resource URIs").

The rules are those of apiserver's `RequestInfoFactory`. The path of a resource request names the resource. The verb of
any other request is its method in lower case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

Query = Mapping[str, Sequence[str]]

_METHOD_VERBS = {"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_OF_MANY = frozenset({"list", "watch", "deletecollection"})
_PATH_VERBS = frozenset({"proxy", "watch"})
_NAMESPACE_SUBRESOURCES = frozenset({"status", "finalize"})
_FALSE = frozenset({"false", "0"})
_TERM = re.compile(r",((?:[^,\\]+|\\.|\\\Z)*)", re.DOTALL)
_MOST_TERMS = 10_000  # a field selector with more terms is not searched for metadata.name


class MalformedPath(Exception):
    """The path begins like that of a resource request, but names no resource ("/api/v1/watch")."""


class RequestInfo(NamedTuple):
    """The request's verb, in the sense of authorization, and its resource. The fields of the resource are empty for
    other requests. It never changes: requests of the same path share it.

    `parts` are the path's segments from the resource on: resource, name, subresource and all that follow.
    `verb_in_path` marks the deprecated paths /watch/… and /proxy/…. The selectors are those of the query, not parsed,
    for list, watch and deletecollection.
    """

    verb: str
    path: str
    is_resource: bool = False
    prefix: str = ""  # "api" or "apis"
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    parts: Sequence[str] = ()
    verb_in_path: bool = False
    field_selector: str = ""
    label_selector: str = ""
    in_no_namespace: bool = False  # whether the path has a place for a namespace and leaves it empty


def request_info(method: str, path: str, query: Query) -> RequestInfo:
    """The RequestInfo of a decoded `path`, as in kube-apiserver. Raises MalformedPath.

    `watch` and a `metadata.name` field selector in `query` count only for a GET without a name in its path.
    """
    parts = path.strip("/").split("/")
    prefix = parts[0]
    if len(parts) < 3 or not (prefix == "api" or (prefix == "apis" and len(parts) > 3)):
        return RequestInfo(method.lower(), path)
    if prefix == "api":
        group, version, parts = "", parts[1], parts[2:]
    else:
        group, version, parts = parts[1], parts[2], parts[3:]
    verb_in_path = parts[0] in _PATH_VERBS
    if verb_in_path:
        verb, parts = parts[0], parts[1:]
        if not parts:
            raise MalformedPath("unable to determine kind and namespace from url")
    else:
        verb = _METHOD_VERBS.get(method, "")
    namespace, in_no_namespace = "", False
    if parts[0] == "namespaces" and len(parts) > 1:
        namespace = parts[1]
        if len(parts) > 2 and parts[2] not in _NAMESPACE_SUBRESOURCES:
            in_no_namespace, parts = not namespace, parts[2:]
    count = len(parts)
    name = parts[1] if count > 1 else ""
    subresource = parts[2] if count > 2 and verb != "proxy" else ""
    if not name:
        if verb == "get":
            verb = "watch" if watch_parameter(query) else "list"
            name = selected_name(query)
        if verb == "delete" and not name:
            verb = "deletecollection"
    of_resource = True, prefix, group, version, parts[0], subresource, namespace, name, parts, verb_in_path
    if query and verb in _OF_MANY:
        fields, labels = _first(query, "fieldSelector"), _first(query, "labelSelector")
        return RequestInfo(verb, path, *of_resource, fields, labels, in_no_namespace)
    return RequestInfo(verb, path, *of_resource, in_no_namespace=in_no_namespace)


def _first(query: Query, name: str) -> str:
    values = query.get(name)
    return values[0] if values else ""


def watch_parameter(query: Query) -> bool:
    """Whether the query asks for a watch: any value does, also the empty one, except "false" and "0"."""
    values = query.get("watch")
    return bool(values) and values[0].lower() not in _FALSE  # type: ignore[index]  # bool() proves that it is there


def selected_name(query: Query) -> str:
    """The name in a `metadata.name=NAME` term of the field selector; "" without one."""
    values = query.get("fieldSelector")
    if not values or "metadata.name=" not in values[0] or values[0].count(",") > _MOST_TERMS:
        return ""
    for term in _terms(values[0]):
        field, equals, value = term.partition("=")
        if not equals:
            return ""
        if field == "metadata.name":
            name = _unescape(value.removeprefix("="))
            return name if _is_path_segment(name) else ""
    return ""


def _terms(selector: str) -> Iterator[str]:
    """The terms of a field selector, split at commas that are not escaped by a backslash."""
    return (term[1] for term in _TERM.finditer("," + selector))


def _unescape(value: str) -> str:
    for char in "\\,=":
        value = value.replace("\\" + char, char)
    return value


def _is_path_segment(name: str) -> bool:
    return bool(name) and name not in (".", "..") and "/" not in name and "%" not in name
