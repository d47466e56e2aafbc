"""Random expressions of policies and match conditions, many of which fail for some objects."""

from __future__ import annotations

import random

_CONDITIONS = (
    *(
        "true",
        "false",
        "object != null",
        "oldObject == null",
        "has(object.metadata.labels)",
        "object.metadata.name != 'b'",
    ),
    *("request.operation == 'CREATE'", "request.operation in ['UPDATE', 'DELETE']", "request.dryRun"),
    *("request.userInfo.username == 'admin'", "'team-a' in request.userInfo.groups", "request.name == 'a'"),
    *("has(request.subResource)", "request.subResource == ''", "request.namespace == 'fuzz-a'", "has(request.name)"),
    *("request.kind.kind == 'ConfigMap'", "request.requestKind.version == 'v2'", "request.resource.resource != 'pods'"),
    *("has(object.data) && object.data.size() < 3", "object.data['a'] == 'x'", "object.data.a.size() > 1"),
    *("object.data.all(k, k.matches('^[a-z]+$'))", "object.data.exists(k, object.data[k] == 'x')"),
    *("object.spec.replicas <= 3", "object.spec.?size.orValue(0) < 5", "has(object.spec.size)", "object.spec.size > 2"),
    *("object.spec.tags.all(t, t.size() < 5)", "object.spec.containers.all(c, c.image.startsWith('r/'))"),
    *("object.metadata.labels['g'] != ''", "object.metadata.labels.?env.orValue('none') == 'none'"),
    *("oldObject.metadata.labels == object.metadata.labels", "oldObject.data != object.data"),
    *(
        "namespaceObject.metadata.labels['env'] == 'prod'",
        "namespaceObject == null",
        "namespaceObject.metadata.name != ''",
    ),
    *("authorizer.group('').resource('pods').namespace('fuzz-a').check('create').allowed()",),
    *(
        "authorizer.requestResource.check('update').allowed()",
        "authorizer.path('/healthz').check('get').reason() == ''",
    ),
    *("authorizer.serviceAccount('fuzz-a', 'default').group('').resource('secrets').check('get').allowed()",),
    *(
        "object.metadata.creationTimestamp == null",
        "!has(object.metadata.uid)",
        "object.metadata.managedFields.size() > 0",
    ),
    *(
        "object.kind == 'ConfigMap'",
        "object.apiVersion.startsWith('v')",
        "has(object.status)",
        "1 / object.data.size() > 0",
    ),
    *("dyn(object).nothing == 1", "object.metadata.generateName == ''", "request.options.kind == 'CreateOptions'"),
    *(
        "has(request.options) && has(request.options.fieldManager)",
        "request.uid == ''",
        "type(object) == type(oldObject)",
    ),
    *("quantity('1Gi').isGreaterThan(quantity('1Mi'))", "isIP('10.0.0.1') && ip('10.0.0.1').family() == 4"),
    *(
        "object.metadata.labels.map(k, k).join(',').contains('g')",
        "[3, 1].sort()[0] == 1",
        "'a,b'.split(',').size() == 2",
    ),
)
_PARAMS = (
    *("params.data.limit == '3'", "int(params.data.limit) > 2", "params == null", "params != null && has(params.data)"),
    *("params.metadata.namespace == request.namespace", "params.data.?other.orValue('') == ''"),
)
_VARIABLES = ("variables.v0", "variables.v1 == 1", "variables.v0 || variables.v1 == 1", "variables.missing")
_MESSAGES = (
    *("'said: ' + request.operation", "object.metadata.name + ' is bad'", "''", "'two\\nlines'", "object.spec.nothing"),
    *("string(object.data.size())", "'x' + variables.v2", "params.data.limit + ' is the limit'", "'  spaced  '"),
)
_ANNOTATIONS = ("'value'", "object.metadata.name", "null", "object.spec.nothing", "''", "string(request.dryRun)")
_VALUES = (
    "true",
    "1",
    "object.metadata.name",
    "object.data.size()",
    "request.operation == 'CREATE'",
    "object.spec.size",
)
_APPLIED = (
    "Object{metadata: Object.metadata{labels: {'applied': 'yes'}}}",
    "Object{metadata: Object.metadata{annotations: {'by': request.operation}}}",
    "has(object.metadata.labels) ? Object{} : Object{metadata: Object.metadata{labels: {'was': 'bare'}}}",
    "Object{data: {'a': 'changed'}}",
    "Object{data: {'n': params.data.limit}}",
    "Object{spec: Object.spec{replicas: 2}}",
    "Object{spec: Object.spec{size: 4}}",
    "Object{spec: Object.spec{tags: ['one']}}",
    "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'c', image: 'r/new'}]}}",
    "Object{spec: Object.spec{nothing: 1}}",
    "Object{metadata: Object.metadata{name: 'other'}}",
    "Object{metadata: Object.metadata{labels: {'v': variables.v2}}}",
    "Object{metadata: Object.metadata{finalizers: ['example.com/kept']}}",
    "Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{hostNetwork: true}}}}",
    "Object{}",
)
_PATCHES = (
    "[JSONPatch{op: 'add', path: '/metadata/labels/patched', value: 'yes'}]",
    "[JSONPatch{op: 'replace', path: '/data/a', value: 'replaced'}]",
    "[JSONPatch{op: 'remove', path: '/data/a'}]",
    "[JSONPatch{op: 'test', path: '/data/a', value: 'x'}, JSONPatch{op: 'add', path: '/data/t', value: 'tested'}]",
    "[JSONPatch{op: 'add', path: '/spec/replicas', value: 3}]",
    "[JSONPatch{op: 'add', path: '/spec/size', value: 'text'}]",
    "[JSONPatch{op: 'add', path: '/spec/unknown', value: 1}]",
    "[JSONPatch{op: 'copy', from: '/metadata/name', path: '/metadata/labels/copied'}]",
    "[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('a/b'), value: object.metadata.name}]",
    "has(object.data) ? [JSONPatch{op: 'add', path: '/data/z', value: string(object.data.size())}] : []",
    "[JSONPatch{op: 'add', path: '/spec/containers/-', value: Object.spec.containers{name: 'side', image: 'r/side'}}]",
    "[JSONPatch{op: 'odd', path: '/data/a'}]",
    "[JSONPatch{op: 'add', path: '/metadata/labels', value: 5}]",
    "[JSONPatch{op: 'add', path: '/metadata/finalizers', value: ['x', 'example.com/y']}]",
    "[JSONPatch{op: 'add', path: '/data/b', value: null}]",
    "[JSONPatch{op: 'replace', path: '/spec/name', value: null}]",
    "[JSONPatch{op: 'add', path: '/spec/tags/0', value: object.metadata.name}]",
    "[JSONPatch{op: 'remove', path: '/metadata/labels'}]",
    "[JSONPatch{op: 'move', from: '/data', path: '/other'}]",
    "[JSONPatch{op: 'add', path: '/metadata/annotations', value: {'only': 'this'}}]",
)


def condition(rng: random.Random, *, params: bool = False, variables: bool = False) -> str:
    """An expression that is mostly true."""
    pool = _CONDITIONS + (_PARAMS * 3 if params else ()) + (_VARIABLES * 2 if variables else ())
    one = rng.choice(pool)
    match rng.randrange(8):
        case 0:
            return f"!({one})"
        case 1:
            return f"({one}) || ({rng.choice(pool)})"
        case 2:
            return f"({one}) && ({rng.choice(pool)})"
        case 3:
            return f"({rng.choice(pool)}) ? ({one}) : ({rng.choice(pool)})"
    return one


def message(rng: random.Random) -> str:
    """A message expression."""
    return rng.choice(_MESSAGES)


def annotation(rng: random.Random) -> str:
    """The value of an audit annotation."""
    return rng.choice(_ANNOTATIONS)


def value(rng: random.Random) -> str:
    """A variable's expression."""
    return rng.choice(_VALUES)


def mutation(rng: random.Random) -> dict[str, object]:
    """A mutation of a policy."""
    if rng.random() < 0.5:
        return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": rng.choice(_APPLIED)}}
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": rng.choice(_PATCHES)}}
