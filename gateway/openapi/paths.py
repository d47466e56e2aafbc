"""The paths of a group version: the operations of each resource, with their parameters, bodies and responses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from gateway.jsontypes import JsonObject
from gateway.kinds.resource import Resource
from gateway.openapi.custom import list_name, schema_name
from gateway.openapi.schemas import PATCH, REFERENCE
from gateway.schema.catalog import META

JSON_TYPES = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf")
CUSTOM_TYPES = ("application/json", "application/yaml")
_STREAM_TYPES = ("application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch")
_PATCH_TYPES = ("application/json-patch+json", "application/merge-patch+json")
_STRATEGIC, _APPLY = "application/strategic-merge-patch+json", "application/apply-patch+yaml"
_DELETE_OPTIONS, _STATUS, _WATCH_EVENT = META + "DeleteOptions", META + "Status", META + "WatchEvent"
RESOURCE_LIST = META + "APIResourceList"

_PARAMETER_TYPES = {
    "allowWatchBookmarks": "boolean",
    "follow": "boolean",
    "force": "boolean",
    "gracePeriodSeconds": "integer",
    "ignoreStoreReadErrorWithClusterBreakingPotential": "boolean",
    "insecureSkipTLSVerifyBackend": "boolean",
    "limit": "integer",
    "limitBytes": "integer",
    "orphanDependents": "boolean",
    "ports": "integer",
    "previous": "boolean",
    "sendInitialEvents": "boolean",
    "sinceSeconds": "integer",
    "stderr": "boolean",
    "stdin": "boolean",
    "stdout": "boolean",
    "tailLines": "integer",
    "timeoutSeconds": "integer",
    "timestamps": "boolean",
    "tty": "boolean",
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
    "shardSelector",
    "timeoutSeconds",
)
_LIST = ("allowWatchBookmarks", *_SELECT, "watch")
_LOG = (
    *("container", "follow", "insecureSkipTLSVerifyBackend", "limitBytes", "previous", "sinceSeconds", "stream"),
    *("tailLines", "timestamps"),
)
# the subresources that open a connection, and their parameters
_CONNECTIONS = {
    "attach": ("container", "stderr", "stdin", "stdout", "tty"),
    "exec": ("command", "container", "stderr", "stdin", "stdout", "tty"),
    "portforward": ("ports",),
    "proxy": ("path",),
}
_METHODS = {"get": "get", "update": "put", "create": "post", "delete": "delete", "patch": "patch"}
_PASSED_ON = ("options", "head")  # methods without a verb, which proxies accept
_TEXT: JsonObject = {"schema": {"type": "string"}}

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
# the differences for kinds of a CustomResourceDefinition
_DEFINED = {
    "get": (*_ONE["get"][:3], ("resourceVersion",), ("200",)),
    "patch": (*_ONE["patch"][:4], ("200",)),
    "deletecollection": (*_MANY["deletecollection"][:3], _LIST, ("200",)),
}


def paths_of(resources: Iterable[Resource]) -> JsonObject:
    """The paths of all resources of a group version."""
    found: JsonObject = {}
    noun = ""
    for resource in resources:
        if not found and not resource.custom:
            found[f"{_root(resource)}/"] = _resource_list(resource)
        if not resource.subresource:
            noun = resource.kind
        connects = resource.subresource in _CONNECTIONS and resource.kind.endswith("Options")
        for path, item in _connections(resource, noun) if connects else _items(resource, noun):
            if item:
                found.setdefault(path, {}).update(item)
    return dict(sorted(found.items()))


def _root(resource: Resource) -> str:
    return f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"


def _resource_list(resource: Resource) -> JsonObject:
    """The item of the group version's own path, which answers the APIResourceList."""
    content = content_of(JSON_TYPES, RESOURCE_LIST)
    answers = {"200": {"description": "OK", "content": content}, "401": {"description": "Unauthorized"}}
    operation = f"get{words_of(resource.group)}{_capital(resource.version)}APIResources"
    return {"get": {"tags": [_tag(resource)], "operationId": operation, "responses": answers}}


def _watches(resource: Resource) -> Iterator[tuple[str, JsonObject]]:
    """The deprecated paths of watches (/apis/GROUP/VERSION/watch/…)."""
    root, kind = f"{_root(resource)}/watch", resource.kind
    scope, scoped = (("namespace",), "Namespaced") if resource.namespaced else ((), "")
    place = f"{root}/namespaces/{{namespace}}" if resource.namespaced else root
    if resource.namespaced:
        yield f"{root}/{resource.resource}", _watch(resource, f"{kind}ListForAllNamespaces", "watchlist", ())
    yield f"{place}/{resource.resource}", _watch(resource, f"{scoped}{kind}List", "watchlist", scope)
    yield f"{place}/{resource.resource}/{{name}}", _watch(resource, f"{scoped}{kind}", "watch", ("name", *scope))


def _watch(resource: Resource, what: str, action: str, variables: tuple[str, ...]) -> JsonObject:
    content = content_of((*JSON_TYPES, *_STREAM_TYPES), _WATCH_EVENT)
    operation = {
        "tags": [_tag(resource)],
        "operationId": f"watch{words_of(resource.group)}{_capital(resource.version)}{what}",
        "responses": {"200": {"description": "OK", "content": content}, "401": {"description": "Unauthorized"}},
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": _kind(resource),
    }
    return _shared({"get": operation}, {"get": _LIST}, variables)


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
    operations, taken = dict[str, JsonObject](), dict[str, tuple[str, ...]]()
    for verb, usual in verbs.items():
        if verb not in resource.verbs:
            continue
        method, word, action, parameters, statuses = _DEFINED.get(verb, usual) if resource.defined else usual
        taken[method] = _LOG if _is_log(resource) else parameters
        operations[method] = {
            "tags": [_tag(resource)],
            "operationId": _operation_id(resource, word, noun, verb == "deletecollection", suffix),
            "responses": _answers(resource, verb, statuses),
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": _kind(resource),
        }
        body = _body(resource, verb)
        if body:
            operations[method]["requestBody"] = body
    return _shared(operations, taken, variables)


def _connections(resource: Resource, noun: str) -> Iterator[tuple[str, JsonObject]]:
    """The paths of a subresource that opens a connection. Proxies have a second one, with the path to forward."""
    place = f"{_root(resource)}/namespaces/{{namespace}}" if resource.namespaced else _root(resource)
    variables = ("name", "namespace") if resource.namespaced else ("name",)
    path = f"{place}/{resource.resource}/{{name}}/{resource.subresource}"
    methods = [method for verb, method in _METHODS.items() if verb in resource.verbs]
    proxied = resource.subresource == "proxy"
    methods += _PASSED_ON if proxied else ()
    yield path, _connection(resource, noun, methods, variables)
    if proxied:
        yield f"{path}/{{path}}", _connection(resource, noun, methods, (*variables, "path"), "WithPath")


def _connection(
    resource: Resource, noun: str, methods: Iterable[str], variables: tuple[str, ...], suffix: str = ""
) -> JsonObject:
    answers = {"200": {"description": "OK", "content": {"*/*": _TEXT}}, "401": {"description": "Unauthorized"}}
    scoped = f"{'Namespaced' if resource.namespaced else ''}{noun}{_capital(resource.subresource)}{suffix}"
    start = f"connect{words_of(resource.group)}{_capital(resource.version)}"
    operations = {
        method: {
            "tags": [_tag(resource)],
            "operationId": f"{start}{_capital(method)}{scoped}",
            "responses": answers,
            "x-kubernetes-action": "connect",
            "x-kubernetes-group-version-kind": _kind(resource),
        }
        for method in methods
    }
    taken = dict.fromkeys(operations, _CONNECTIONS[resource.subresource])
    return _shared(operations, taken, variables, pretty=False)


def _shared(
    operations: dict[str, JsonObject],
    taken: Mapping[str, tuple[str, ...]],
    variables: tuple[str, ...],
    *,
    pretty: bool = True,
) -> JsonObject:
    """The item of a path. Parameters of all its operations are listed once for the path. They are sorted by name."""
    common = set.intersection(*map(set, taken.values())) if taken else set[str]()
    for method, operation in operations.items():
        if own := sorted(set(taken[method]) - common):
            operation["parameters"] = [_parameter(name) for name in own]
    if not operations:
        return {}
    given = [{**_parameter(name), "in": "path", "required": True} for name in variables]
    asked = [_parameter(name) for name in (*common, *(("pretty",) if pretty else ()))]
    return {**operations, "parameters": sorted((*given, *asked), key=lambda each: (each["name"], each["in"] != "path"))}


def _is_log(resource: Resource) -> bool:
    """Whether a subresource is a log: it answers text, and has its own parameters."""
    return resource.subresource == "log" and not resource.custom


def _kind(resource: Resource) -> JsonObject:
    """The kind of an operation. For kinds of a CustomResourceDefinition it is the object's kind, even for a Scale."""
    if resource.defined:
        return {"group": resource.group, "kind": resource.model.kind, "version": resource.version}
    return {"group": resource.kind_group, "kind": resource.kind, "version": resource.kind_version}


def _parameter(name: str) -> JsonObject:
    return {"name": name, "in": "query", "schema": {"type": _PARAMETER_TYPES.get(name, "string"), "uniqueItems": True}}


def _answers(resource: Resource, verb: str, statuses: tuple[str, ...]) -> JsonObject:
    if _is_log(resource):
        content: JsonObject = dict.fromkeys(("text/plain", *JSON_TYPES), _TEXT)
        return {"200": {"description": _REASONS["200"], "content": content}, "401": {"description": "Unauthorized"}}
    types: tuple[str, ...] = CUSTOM_TYPES if resource.defined else JSON_TYPES
    name = schema_name(resource)
    if verb == "list":
        name = list_name(resource)
        types = types if resource.custom else (*JSON_TYPES, *_STREAM_TYPES)
    elif verb == "deletecollection" or (verb == "delete" and not _answers_object(resource)):
        name = _STATUS
    content = content_of(types, name)
    answers: JsonObject = {status: {"description": _REASONS[status], "content": content} for status in statuses}
    answers["401"] = {"description": "Unauthorized"}
    return answers


def _answers_object(resource: Resource) -> bool:
    """Whether the document says that a delete answers the object. Not so for kinds like Namespace that are emptied
    first.
    """
    return resource.strategy.returns_deleted and resource.strategy.termination is None


_REASONS = {"200": "OK", "201": "Created", "202": "Accepted"}


def _body(resource: Resource, verb: str) -> JsonObject:
    if verb == "patch":
        patches = (*_PATCH_TYPES, *(() if resource.defined else (_STRATEGIC,)), _APPLY)
        return {"content": content_of(patches, PATCH), "required": True}
    types = CUSTOM_TYPES if resource.defined else ("*/*",)
    if verb in ("create", "update"):
        return {"content": content_of(types, schema_name(resource)), "required": True}
    if verb == "delete" or (verb == "deletecollection" and not resource.defined):
        return {"content": content_of(types, _DELETE_OPTIONS)}
    return {}


def content_of(media_types: Iterable[str], name: str) -> JsonObject:
    return {media_type: {"schema": {"$ref": REFERENCE + name}} for media_type in media_types}


def _tag(resource: Resource) -> str:
    words = words_of(resource.group)
    return f"{words[0].lower()}{words[1:]}_{resource.version}"


def _operation_id(resource: Resource, word: str, noun: str, collection: bool, suffix: str) -> str:
    version = _capital(resource.version)
    scope = "Namespaced" if resource.namespaced and not suffix else ""
    what = f"{'Collection' if collection else ''}{scope}{noun}{_capital(resource.subresource)}{suffix}"
    return f"{word}{words_of(resource.group)}{version}{what}"


def words_of(group: str) -> str:
    """A group in operation ids: "RbacAuthorization" for "rbac.authorization.k8s.io", "Core" for the core group."""
    return "".join(map(_capital, group.removesuffix(".k8s.io").split("."))) or "Core"


def _capital(word: str) -> str:
    return word[:1].upper() + word[1:]
