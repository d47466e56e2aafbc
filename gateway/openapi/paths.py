"""The paths of a group version: which requests each resource takes, with their parameters, bodies and answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gateway.jsontypes import JsonObject
from gateway.kinds.resource import Resource
from gateway.openapi.custom import list_name, schema_name
from gateway.openapi.schemas import PATCH, REFERENCE
from gateway.schema.catalog import META

_JSON_TYPES = ("application/json", "application/vnd.kubernetes.protobuf", "application/yaml")
_CUSTOM_TYPES = ("application/json", "application/yaml")
_STREAM_TYPES = ("application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch")
_PATCH_TYPES = ("application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json")
_STRATEGIC = "application/strategic-merge-patch+json"
_DELETE_OPTIONS, _STATUS, _WATCH_EVENT = META + "DeleteOptions", META + "Status", META + "WatchEvent"
RESOURCE_LIST = META + "APIResourceList"

_PARAMETER_TYPES = {
    "allowWatchBookmarks": "boolean",
    "force": "boolean",
    "gracePeriodSeconds": "integer",
    "ignoreStoreReadErrorWithClusterBreakingPotential": "boolean",
    "limit": "integer",
    "orphanDependents": "boolean",
    "sendInitialEvents": "boolean",
    "timeoutSeconds": "integer",
    "watch": "boolean",
}
_WRITE = ("dryRun", "fieldManager", "fieldValidation")
_DELETE = (
    "dryRun",
    "gracePeriodSeconds",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "orphanDependents",
    "propagationPolicy",
)
_SELECT = (
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeoutSeconds",
)
_LIST = ("allowWatchBookmarks", *_SELECT, "watch")

# verb -> HTTP method, word in operation ids, x-kubernetes-action, parameters, statuses of success
_ONE = {
    "get": ("get", "read", "get", (), ("200",)),
    "update": ("put", "replace", "put", _WRITE, ("200", "201")),
    "patch": ("patch", "patch", "patch", (*_WRITE, "force"), ("200", "201")),
    "delete": ("delete", "delete", "delete", _DELETE, ("200", "202")),
}
_MANY = {
    "list": ("get", "list", "list", _LIST, ("200",)),
    "create": ("post", "create", "post", _WRITE, ("200", "201", "202")),
    "deletecollection": ("delete", "delete", "deletecollection", (*_DELETE, *_SELECT), ("200",)),
}
# what is otherwise where a definition makes the kind
_DEFINED = {
    "get": (*_ONE["get"][:3], ("resourceVersion",), ("200",)),
    "patch": (*_ONE["patch"][:4], ("200",)),
    "deletecollection": (*_MANY["deletecollection"][:3], _LIST, ("200",)),
}


def paths_of(resources: Iterable[Resource]) -> JsonObject:
    """The paths of a group version's resources. Connections (exec, proxy) are left out: they carry no objects."""
    found: JsonObject = {}
    noun = ""
    for resource in resources:
        if not found and not resource.custom:
            found[f"{_root(resource)}/"] = _resource_list(resource)
        if not resource.subresource:
            noun = resource.kind
        if not resource.kind.endswith("Options"):
            for path, item in _items(resource, noun):
                if item:
                    found.setdefault(path, {}).update(item)
    return dict(sorted(found.items()))


def _root(resource: Resource) -> str:
    return f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"


def _resource_list(resource: Resource) -> JsonObject:
    """The path of a group version itself."""
    content = _content(_JSON_TYPES, RESOURCE_LIST)
    answers = {"200": {"description": "OK", "content": content}, "401": {"description": "Unauthorized"}}
    operation = f"get{_words(resource.group)}{_capital(resource.version)}APIResources"
    return {"get": {"tags": [_tag(resource)], "operationId": operation, "responses": answers}}


def _watches(resource: Resource) -> Iterator[tuple[str, JsonObject]]:
    """The deprecated paths of watches."""
    root, kind = f"{_root(resource)}/watch", resource.kind
    scope, scoped = (("namespace",), "Namespaced") if resource.namespaced else ((), "")
    place = f"{root}/namespaces/{{namespace}}" if resource.namespaced else root
    if resource.namespaced:
        yield f"{root}/{resource.resource}", _watch(resource, f"{kind}ListForAllNamespaces", "watchlist", ())
    yield f"{place}/{resource.resource}", _watch(resource, f"{scoped}{kind}List", "watchlist", scope)
    yield f"{place}/{resource.resource}/{{name}}", _watch(resource, f"{scoped}{kind}", "watch", ("name", *scope))


def _watch(resource: Resource, what: str, action: str, variables: tuple[str, ...]) -> JsonObject:
    content = _content((*_JSON_TYPES, *_STREAM_TYPES), _WATCH_EVENT)
    operation = {
        "tags": [_tag(resource)],
        "operationId": f"watch{_words(resource.group)}{_capital(resource.version)}{what}",
        "responses": {"200": {"description": "OK", "content": content}, "401": {"description": "Unauthorized"}},
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": _kind(resource),
    }
    given = [{**_parameter(name), "in": "path", "required": True} for name in variables]
    return {"get": operation, "parameters": [*given, *map(_parameter, sorted((*_LIST, "pretty")))]}


def _items(resource: Resource, noun: str) -> Iterator[tuple[str, JsonObject]]:
    root = _root(resource)
    place = f"{root}/namespaces/{{namespace}}" if resource.namespaced else root
    scope = ("namespace",) if resource.namespaced else ()
    if resource.subresource:
        verbs = {**_ONE, "create": _MANY["create"]}
        path = f"{place}/{resource.resource}/{{name}}/{resource.subresource}"
        yield path, _item(resource, noun, verbs, ("name", *scope))
        return
    yield f"{place}/{resource.resource}", _item(resource, noun, _MANY, scope)
    yield f"{place}/{resource.resource}/{{name}}", _item(resource, noun, _ONE, ("name", *scope))
    if resource.namespaced and "list" in resource.verbs:
        everywhere = {"list": _MANY["list"]}
        yield f"{root}/{resource.resource}", _item(resource, noun, everywhere, (), "ForAllNamespaces")
    if "watch" in resource.verbs and not resource.custom:
        yield from _watches(resource)


def _item(
    resource: Resource,
    noun: str,
    verbs: dict[str, tuple[str, str, str, tuple[str, ...], tuple[str, ...]]],
    variables: tuple[str, ...],
    suffix: str = "",
) -> JsonObject:
    item: JsonObject = {}
    for verb, usual in verbs.items():
        if verb not in resource.verbs:
            continue
        method, word, action, parameters, statuses = _DEFINED.get(verb, usual) if resource.defined else usual
        item[method] = {
            "tags": [_tag(resource)],
            "operationId": _operation_id(resource, word, noun, verb == "deletecollection", suffix),
            **({"parameters": [_parameter(name) for name in parameters]} if parameters else {}),
            "responses": _answers(resource, verb, statuses),
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": _kind(resource),
        }
        body = _body(resource, verb)
        if body:
            item[method]["requestBody"] = body
    if suffix:  # the only operation there: what it takes is said of the path
        del item["get"]["parameters"]
        item["parameters"] = [_parameter(name) for name in sorted((*_LIST, "pretty"))]
    elif item:
        given = [{**_parameter(name), "in": "path", "required": True} for name in variables]
        item["parameters"] = [*given, _parameter("pretty")]
    return item


def _kind(resource: Resource) -> JsonObject:
    """The kind that an operation is of: where a definition makes the objects, theirs also for a Scale."""
    if resource.defined:
        return {"group": resource.group, "kind": resource.model.kind, "version": resource.version}
    return {"group": resource.kind_group, "kind": resource.kind, "version": resource.kind_version}


def _parameter(name: str) -> JsonObject:
    return {"name": name, "in": "query", "schema": {"type": _PARAMETER_TYPES.get(name, "string"), "uniqueItems": True}}


def _answers(resource: Resource, verb: str, statuses: tuple[str, ...]) -> JsonObject:
    types: tuple[str, ...] = _CUSTOM_TYPES if resource.defined else _JSON_TYPES
    name = schema_name(resource)
    if verb == "list":
        name = list_name(resource)
        types = types if resource.custom else (*_JSON_TYPES, *_STREAM_TYPES)
    elif verb == "deletecollection" or (verb == "delete" and "list" in resource.verbs):
        name = _STATUS
    content = _content(types, name)
    answers: JsonObject = {status: {"description": _REASONS[status], "content": content} for status in statuses}
    answers["401"] = {"description": "Unauthorized"}
    return answers


_REASONS = {"200": "OK", "201": "Created", "202": "Accepted"}


def _body(resource: Resource, verb: str) -> JsonObject:
    if verb == "patch":
        patches = _PATCH_TYPES if resource.defined else (*_PATCH_TYPES, _STRATEGIC)
        return {"content": _content(patches, PATCH), "required": True}
    types = _CUSTOM_TYPES if resource.defined else ("*/*",)
    if verb in ("create", "update"):
        return {"content": _content(types, schema_name(resource)), "required": True}
    if verb == "delete" or (verb == "deletecollection" and not resource.defined):
        return {"content": _content(types, _DELETE_OPTIONS)}
    return {}


def _content(media_types: Iterable[str], name: str) -> JsonObject:
    return {media_type: {"schema": {"$ref": REFERENCE + name}} for media_type in media_types}


def _tag(resource: Resource) -> str:
    words = _words(resource.group)
    return f"{words[0].lower()}{words[1:]}_{resource.version}"


def _operation_id(resource: Resource, word: str, noun: str, collection: bool, suffix: str) -> str:
    version = _capital(resource.version)
    scope = "Namespaced" if resource.namespaced and not suffix else ""
    what = f"{'Collection' if collection else ''}{scope}{noun}{_capital(resource.subresource)}{suffix}"
    return f"{word}{_words(resource.group)}{version}{what}"


def _words(group: str) -> str:
    """ "rbac.authorization.k8s.io" as "RbacAuthorization"; the core group as "Core"."""
    return "".join(map(_capital, group.removesuffix(".k8s.io").split("."))) or "Core"


def _capital(word: str) -> str:
    return word[:1].upper() + word[1:]
