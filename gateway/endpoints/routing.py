"""Finds the resource that serves a request, by rules for its RequestInfo and not by a table of routes.

Errors are those of kube-apiserver's router: 404 for a path that no served resource has, 405 for a path with other
methods.
"""

from __future__ import annotations

from collections.abc import Mapping

from gateway.http.request_info import RequestInfo
from gateway.http.status import StatusError, bad_request
from gateway.kinds.resource import Resource
from gateway.validation.field import go_quote

ResourceKey = tuple[str, str, str, str]  # group, version, plural, subresource ("" for the resource itself)

_COLLECTION = {"GET": ("list", "watch"), "POST": ("create",), "DELETE": ("deletecollection",)}
_ITEM = {"GET": ("get",), "PUT": ("update",), "PATCH": ("patch",), "DELETE": ("delete",)}
_SUBRESOURCE = {"GET": ("get",), "POST": ("create",), "PUT": ("update",), "PATCH": ("patch",), "DELETE": ("delete",)}
_READ_COLLECTION = {"GET": ("list", "watch")}  # of a namespaced resource, in all namespaces
_WATCH = {"GET": ("watch",)}
_WITH_PATH = frozenset({"proxy"})  # subresources that may be followed by any path
_OWN_PATH = 3  # segments: resource, name, subresource
_ACROSS_NAMESPACES = frozenset({"list", "watch"})
_IN_NO_NAMESPACE = frozenset({"list", "watch", "deletecollection"})  # possible with an empty namespace in the path
_OF_ONE = frozenset({"get", "update", "patch", "delete"})
_ANY_METHOD = frozenset({"OPTIONS", "HEAD"})


def served_resource(resources: Mapping[ResourceKey, Resource], method: str, info: RequestInfo) -> Resource:
    """The resource that serves a request. Raises StatusError 404 or 405."""
    resource = resources.get((info.group, info.version, info.resource, info.subresource))
    if resource is not None and resource.defined:
        _check_custom(resource, info)
        return resource
    if resource is None or info.verb == "proxy":
        raise unknown_path()
    methods = _methods(resource, info)
    if method in methods and not resource.verbs.isdisjoint(methods[method]):
        return resource
    if all(resource.verbs.isdisjoint(verbs) for verbs in methods.values()):
        raise unknown_path()
    if info.subresource in _WITH_PATH and method in _ANY_METHOD:
        return resource
    raise method_not_allowed()


def misnamed(resource: Resource, info: RequestInfo) -> StatusError | None:
    """The error 400 if a path's name or namespace is missing or impossible for the resource; None otherwise."""
    name = info.name
    if not name and (info.verb in _OF_ONE or info.subresource):
        return NameMissing(400, "BadRequest", "name must be provided")
    if info.in_no_namespace and info.verb not in _IN_NO_NAMESPACE and not resource.defined:
        return no_namespace()
    if "%" in name or name in (".", ".."):
        problem = "may not contain '%'" if "%" in name else f"may not be '{name}'"
        return bad_request(f"Name parameter invalid: {go_quote(name)}: {problem}")
    return None


def is_in_scope(resource: Resource, info: RequestInfo) -> bool:
    """Whether a path fits the scope of a custom resource: with a namespace if it is namespaced (list and watch also
    without), otherwise without.
    """
    if resource.namespaced:
        return bool(info.namespace) or info.verb in _ACROSS_NAMESPACES
    return not info.namespace


def no_namespace() -> StatusError:
    """The error 400 for a path without the namespace that it needs."""
    return bad_request("Namespace parameter required.")


def _check_custom(resource: Resource, info: RequestInfo) -> None:
    """Raises StatusError 404 or 405 for a request that a custom resource does not serve.

    As in kube-apiserver's handler of custom resources, only scope and verb count. The method does not count if the path
    has the verb (/watch/…), nor does the path after a subresource.
    """
    if not is_in_scope(resource, info):
        raise unknown_path()
    if info.verb not in resource.verbs:
        raise _not_supported(resource, info.verb)


def _methods(resource: Resource, info: RequestInfo) -> Mapping[str, tuple[str, ...]]:
    """The possible verbs of each method for the form of the path (collection, item, subresource). Empty if the resource
    has no paths of that form.
    """
    parts = info.parts
    if not parts[0] or "" in parts[2:_OWN_PATH]:
        return {}
    segments = len(parts)
    named = bool(info.namespace) or info.in_no_namespace
    in_namespace = named and not _is_namespace(info)
    if in_namespace and not resource.namespaced:
        return {}
    if segments > _OWN_PATH and info.subresource not in _WITH_PATH:
        return {}
    anywhere = resource.namespaced and not in_namespace
    if info.verb_in_path:
        return _WATCH if segments == 1 or (segments == 2 and not anywhere) else {}
    if anywhere:
        return _READ_COLLECTION if segments == 1 else {}
    if segments == 1:
        return _COLLECTION
    return _ITEM if segments == 2 else _SUBRESOURCE


def _is_namespace(info: RequestInfo) -> bool:
    """Whether a path is that of a Namespace object, and not of a resource in the namespace."""
    before = (2 if info.prefix == "api" else 3) + info.verb_in_path
    return info.parts[0] == "namespaces" and len(info.path.strip("/").split("/")) == before + len(info.parts)


class NameMissing(StatusError):
    """400 for a path without an object's name, which its verb needs."""


class UnknownPath(StatusError):
    """404 for a path that no served resource has."""


def unknown_path() -> StatusError:
    """The error 404 for a path under a served group that no resource has."""
    return UnknownPath(404, "NotFound", "the server could not find the requested resource", {})


def method_not_allowed() -> StatusError:
    """The error 405 for a method that a path does not have."""
    message = "the server does not allow this method on the requested resource"
    return StatusError(405, "MethodNotAllowed", message, {})


def _not_supported(resource: Resource, verb: str) -> StatusError:
    """The error 405 for custom resources, which have another message in kube-apiserver."""
    details = {"group": resource.group, "kind": resource.resource}
    message = f'{verb} is not supported on resources of kind "{resource.resource}.{resource.group}"'
    return StatusError(405, "MethodNotAllowed", message, details)
