"""Warnings about pods and pod templates: what is accepted but deprecated, ineffective or surprising."""

from __future__ import annotations

from collections.abc import Iterator

from gateway.jsontypes import JsonObject
from gateway.validation.addresses import ip_warnings
from gateway.validation.field import first_places, go_quote
from gateway.validation.names import is_label_value, name_is_dns_label
from gateway.validation.node_labels import DEPRECATED as NODE_LABELS
from gateway.validation.pod_annotations import APP_ARMOR, SECCOMP_CONTAINER, SECCOMP_POD
from gateway.validation.pod_options import containers_with_path
from gateway.validation.port_warnings import port_warnings
from gateway.validation.quantities import is_fractional
from gateway.validation.scheduling import PREFERRED_TERMS, REQUIRED_TERMS
from gateway.validation.volume_warnings import overlap_warnings

_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": 'non-functional in v1.16+; use the "priorityClassName" field instead',
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
# volume source -> (its name in the warning, the text), in order
_VOLUMES = {
    "photonPersistentDisk": ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    "gitRepo": ("gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    "scaleIO": ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    "flocker": ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    "storageos": ("storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    "quobyte": ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    "glusterfs": ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    "cephfs": ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    "rbd": ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
}
_NULL_SELECTOR = "a null labelSelector results in matching no pod"
_BYTES = ("memory", "ephemeral-storage")
# fields with warnings that most specs lack: without any of them, only containers are checked
_UNUSUAL = frozenset(
    {
        "affinity",
        "dnsConfig",
        "hostAliases",
        "imagePullSecrets",
        "nodeSelector",
        "overhead",
        "topologySpreadConstraints",
        "volumes",
    }
)


def annotations_matter(annotations: dict[str, str]) -> bool:
    """Whether the warnings about a pod depend on these annotations."""
    return any(key in _ANNOTATIONS or "seccomp" in key or "apparmor" in key for key in annotations)


def name_warning(name: str, use: str) -> list[str]:
    """The warning about a name that is not a DNS label, but is used in a host name (`use` says for what)."""
    if not (messages := name_is_dns_label(name, prefix=False)):
        return []
    text = "which can result in surprising behavior; a DNS label is recommended"
    return [f"metadata.name: this is used in {use}, {text}: [{' '.join(messages)}]"]


def template_warnings(template: JsonObject, path: str) -> Iterator[str]:
    """Yields the warnings about a pod template at `path`. Makes each when the caller asks for it."""
    return _warnings(template.get("spec") or {}, template.get("metadata") or {}, f"{path}.", template=True)


def pod_warnings(pod: JsonObject) -> Iterator[str]:
    return _warnings(pod.get("spec") or {}, pod.get("metadata") or {}, "", template=False)


def _warnings(spec: JsonObject, meta: JsonObject, path: str, template: bool) -> Iterator[str]:
    annotations, at = meta.get("annotations") or {}, f"{path}spec"
    unusual = not _UNUSUAL.isdisjoint(spec)
    if unusual:
        yield from _node_labels(spec, at)
    for key, text in _ANNOTATIONS.items() if annotations else ():
        if key in annotations:
            yield f"{path}metadata.annotations[{key}]: {text}"
    if unusual:
        yield from _volumes(spec, at)
        yield from _duplicates(spec, at)
        yield from _overhead(spec, at)
    profiles = annotations_matter(annotations)
    if profiles:
        yield from _seccomp_pod(spec, annotations, path)
    for container, place in containers_with_path(spec, at):
        if profiles:
            yield from _container_annotations(container, spec, annotations, path, template)
        yield from _container(container, place)
    yield from port_warnings(containers_with_path(spec, at))
    grace = spec.get("terminationGracePeriodSeconds")
    if grace is not None and grace < 0:
        text = "must be >= 0; negative values are invalid and will be treated as 1"
        yield f"{at}.terminationGracePeriodSeconds: {text}"
    if unusual:
        yield from _affinity(spec.get("affinity") or {}, f"{at}.affinity")
        yield from _addresses(spec, at)


def _volumes(spec: JsonObject, path: str) -> Iterator[str]:
    volumes = spec.get("volumes") or ()
    for i, volume in enumerate(volumes):
        yield from _volume(volume, f"{path}.volumes[{i}]")
    yield from overlap_warnings(volumes)


def _overhead(spec: JsonObject, path: str) -> list[str]:
    overhead = spec.get("overhead") or {}
    return [_fraction(f"{path}.overhead[{key}]", overhead[key]) for key in _BYTES if _is_bad(overhead, key)]


def _addresses(spec: JsonObject, path: str) -> Iterator[str]:
    for i, server in enumerate((spec.get("dnsConfig") or {}).get("nameservers") or ()):
        yield from ip_warnings(f"{path}.dnsConfig.nameservers[{i}]", server)
    for i, alias in enumerate(spec.get("hostAliases") or ()):
        yield from ip_warnings(f"{path}.hostAliases[{i}].ip", alias.get("ip", ""))


def _node_labels(spec: JsonObject, path: str) -> Iterator[str]:
    for key in spec.get("nodeSelector") or ():
        if key in NODE_LABELS:
            yield f"{path}.nodeSelector[{key}]: {NODE_LABELS[key]}"
    node = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    at = f"{path}.affinity.nodeAffinity"
    for i, term in enumerate((node.get(REQUIRED_TERMS) or {}).get("nodeSelectorTerms") or ()):
        yield from node_term_warnings(term, f"{at}.{REQUIRED_TERMS}.nodeSelectorTerms[{i}]", check_values=False)
    for i, term in enumerate(node.get(PREFERRED_TERMS) or ()):
        place = f"{at}.{PREFERRED_TERMS}[{i}].preference"
        yield from node_term_warnings(term.get("preference") or {}, place, check_values=True)
    for i, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        key, place = constraint.get("topologyKey", ""), f"{path}.topologySpreadConstraints[{i}]"
        if key in NODE_LABELS:
            yield f"{place}.topologyKey: {key} is {NODE_LABELS[key]}"
        if "labelSelector" not in constraint:
            yield f"{place}.labelSelector: {_NULL_SELECTOR}"


def node_term_warnings(term: JsonObject, path: str, *, check_values: bool) -> Iterator[str]:
    """Yields warnings about the labels in a node selector term; with `check_values`, also about invalid values."""
    for i, expression in enumerate(term.get("matchExpressions") or ()):
        key, at = expression.get("key", ""), f"{path}.matchExpressions[{i}]"
        if key in NODE_LABELS:
            yield f"{at}.key: {key} is {NODE_LABELS[key]}"
        if check_values:
            for j, value in enumerate(expression.get("values") or ()):
                yield from (f"{at}.values[{j}]: {value} is invalid, {text}" for text in is_label_value(value))


def _volume(volume: JsonObject, path: str) -> list[str]:
    found = [f"{path}.{_VOLUMES[key][0]}: {_VOLUMES[key][1]}" for key in volume if key in _VOLUMES]
    template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
    if template is not None:
        found += claim_warnings(template.get("spec") or {}, f"{path}.ephemeral.volumeClaimTemplate.spec")
    return found


def claim_warnings(spec: JsonObject, path: str) -> list[str]:
    """The warnings about the spec of a PersistentVolumeClaim."""
    resources = spec.get("resources") or {}
    return [
        _fraction(f"{path}.resources.{kind}[storage]", resources[kind]["storage"])
        for kind in ("requests", "limits")
        if _is_bad(resources.get(kind) or {}, "storage")
    ]


def _is_bad(quantities: JsonObject, key: str) -> bool:
    return key in quantities and is_fractional(quantities[key])


def _fraction(path: str, value: str) -> str:
    return f"{path}: fractional byte value {go_quote(str(value))} is invalid, must be an integer"


def _duplicates(spec: JsonObject, path: str) -> Iterator[str]:
    seen: set[str] = set()
    for i, alias in enumerate(spec.get("hostAliases") or ()):
        address = alias.get("ip", "")
        if address in seen:
            yield f"{path}.hostAliases[{i}].ip: duplicate ip {go_quote(address)}"
        seen.add(address)
    secrets = [secret.get("name", "") for secret in spec.get("imagePullSecrets") or ()]
    first = first_places(secrets)
    for i, name in enumerate(secrets):
        if first[name] < i:
            yield f"{path}.imagePullSecrets[{i}].name: duplicate name {go_quote(name)}"
    for i, name in enumerate(secrets):
        if not name:
            yield f'{path}.imagePullSecrets[{i}].name: invalid empty name ""'


def _seccomp_pod(spec: JsonObject, annotations: dict[str, str], path: str) -> list[str]:
    if SECCOMP_POD not in annotations or "seccompProfile" in (spec.get("securityContext") or {}):
        return []
    text = 'non-functional in v1.27+; use the "seccompProfile" field instead'
    return [f"{path}metadata.annotations[{SECCOMP_POD}]: {text}"]


def _container_annotations(
    container: JsonObject, spec: JsonObject, annotations: dict[str, str], path: str, template: bool
) -> Iterator[str]:
    context, name = container.get("securityContext") or {}, container.get("name", "")
    key = f"{SECCOMP_CONTAINER}{name}"
    if "seccompProfile" not in context and key in annotations:
        yield f'{path}metadata.annotations[{key}]: non-functional in v1.27+; use the "seccompProfile" field instead'
    key = f"{APP_ARMOR}{name}"
    if template and "appArmorProfile" not in context and key in annotations:
        profile = (spec.get("securityContext") or {}).get("appArmorProfile")
        if profile is None or profile != app_armor_field(annotations[key]):
            yield f'{path}metadata.annotations[{key}]: deprecated since v1.30; use the "appArmorProfile" field instead'


def app_armor_field(annotation: str) -> JsonObject | None:
    """The appArmorProfile field for the value of an annotation; None if the value is malformed."""
    kinds = {"unconfined": "Unconfined", "runtime/default": "RuntimeDefault"}
    if annotation in kinds:
        return {"type": kinds[annotation]}
    profile = annotation.removeprefix("localhost/")
    return {"type": "Localhost", "localhostProfile": profile} if profile and profile != annotation else None


def _container(container: JsonObject, path: str) -> Iterator[str]:
    if resources := container.get("resources"):
        for key in _BYTES:
            for kind in ("limits", "requests"):
                quantities = resources.get(kind) or {}
                if _is_bad(quantities, key):
                    yield _fraction(f"{path}.resources.{kind}[{key}]", quantities[key])
    variables = container.get("env") or ()
    if len({variable.get("name", "") for variable in variables}) == len(variables):
        return
    seen: set[str] = set()
    for i, variable in enumerate(variables):
        name, value = variable.get("name", ""), variable.get("value", "")
        reference = f"$({name})"
        if name not in seen:
            seen.add(name)
        elif "valueFrom" in variable or value == reference or reference not in value:
            text = f"hides previous definition of {go_quote(name)}, which may be dropped when using apply"
            yield f"{path}.env[{i}]: {text}"


def _affinity(affinity: JsonObject, path: str) -> Iterator[str]:
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(kind) or {}
        for i, term in enumerate(terms.get(REQUIRED_TERMS) or ()):
            if "labelSelector" not in term:
                yield f"{path}.{kind}.{REQUIRED_TERMS}[{i}].labelSelector: {_NULL_SELECTOR}"
        for i, weighted in enumerate(terms.get(PREFERRED_TERMS) or ()):
            if "labelSelector" not in (weighted.get("podAffinityTerm") or {}):
                yield f"{path}.{kind}.{PREFERRED_TERMS}[{i}].podAffinityTerm.labelSelector: {_NULL_SELECTOR}"
