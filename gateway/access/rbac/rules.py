"""One policy rule, compiled: which requests it allows, and which other rules it covers.

As `rbac.authorization.k8s.io/v1` PolicyRule, and the comparison of rules of component-helpers'
`auth/rbac/validation`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice

from gateway.http.request_info import RequestInfo
from gateway.jsontypes import JsonObject, dumps
from gateway.memo import Memory
from gateway.time_limits import look
from gateway.validation.field import go_quote

ALL = "*"
MOST_COMPARISONS = 1_000_000  # between the rights that one write grants and those of its user: about 100 ms
MOST_MISSING = 100_000  # rights that one write grants and its user does not have: about 400 ms and 50 MB

_SHOWN = (
    ("APIGroups", "apiGroups"),
    ("Resources", "resources"),
    ("NonResourceURLs", "nonResourceURLs"),
    ("ResourceNames", "resourceNames"),
    ("Verbs", "verbs"),
)
NOTHING: frozenset[str] = frozenset()


class TooManyRights(Exception):
    """The rules have too many combinations of verb, resource and name to compare them one by one."""


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """A policy rule. `any_verb`, `any_group` and `any_resource` say whether the list has "*". `prefixes` are the URLs
    that end in "*", without it.
    """

    spec: JsonObject = field(compare=False)
    verbs: frozenset[str]
    groups: frozenset[str]
    resources: frozenset[str]
    names: frozenset[str]
    urls: frozenset[str]
    prefixes: tuple[str, ...]
    any_verb: bool
    any_group: bool
    any_resource: bool

    def allows(self, info: RequestInfo, combined: str) -> bool:
        """Whether the rule allows a request. `combined` is its "resource/subresource", or the resource alone."""
        if not (self.any_verb or info.verb in self.verbs):
            return False
        if not info.is_resource:
            return info.path in self.urls or info.path.startswith(self.prefixes)
        return (
            (self.any_group or info.group in self.groups)
            and (
                self.any_resource
                or combined in self.resources
                or (bool(info.subresource) and f"*/{info.subresource}" in self.resources)
            )
            and (not self.names or info.name in self.names)
        )

    def covers_verb(self, verb: str) -> bool:
        return self.any_verb or verb in self.verbs

    def covers_group(self, group: str) -> bool:
        return self.any_group or group in self.groups

    def covers_resource(self, resource: str) -> bool:
        """Whether the rule covers another rule's "resource" or "resource/subresource"."""
        if self.any_resource or resource in self.resources:
            return True
        _, slash, subresource = resource.partition("/")
        return bool(slash) and f"*/{subresource}" in self.resources

    def covers_name(self, name: str) -> bool:
        """Whether the rule covers an object's name; "" stands for all names."""
        return not self.names or (bool(name) and name in self.names)

    def covers_url(self, url: str) -> bool:
        return url in self.urls or url.startswith(self.prefixes)


def compile_rule(spec: JsonObject) -> PolicyRule:
    """Compiles a PolicyRule in JSON."""
    verbs, groups = frozenset(spec.get("verbs") or ()), frozenset(spec.get("apiGroups") or ())
    resources, urls = frozenset(spec.get("resources") or ()), frozenset(spec.get("nonResourceURLs") or ())
    return PolicyRule(
        spec=spec,
        verbs=verbs,
        groups=groups,
        resources=resources,
        names=frozenset(spec.get("resourceNames") or ()),
        urls=urls,
        prefixes=tuple(url.rstrip(ALL) for url in sorted(urls) if url.endswith(ALL)),
        any_verb=ALL in verbs,
        any_group=ALL in groups,
        any_resource=ALL in resources,
    )


_alike: Memory[bytes, tuple[PolicyRule, ...]] = Memory(4 << 20, largest=256 << 10)
"""Compiled rules by their JSON: the default roles of all control planes share theirs."""


def compile_rules(specs: Sequence[JsonObject] | None) -> tuple[PolicyRule, ...]:
    """Compiles the rules of a role, which must not be changed later."""
    if not specs:
        return ()
    content = dumps(specs)
    found = _alike.get(content)
    if found is None:
        found = tuple(map(compile_rule, specs))
        _alike.keep(content, found, 8 * len(content))
    return found


FULL_AUTHORITY = compile_rules(
    [
        {"verbs": [ALL], "apiGroups": [ALL], "resources": [ALL]},
        {"verbs": [ALL], "nonResourceURLs": [ALL]},
    ]
)


def uncovered(owned: Sequence[PolicyRule], wanted: Sequence[PolicyRule]) -> list[JsonObject]:
    """The rights that `wanted` grants and `owned` does not, as PolicyRules with one verb, resource and name each.

    A rule that `wanted` has several times is there as often. Raises TooManyRights; on an event loop, raises TakesLong
    if the work takes long.
    """
    missing: list[JsonObject] = []
    known: dict[bytes, list[JsonObject]] = {}  # the missing rights, by the JSON of a rule
    budget = MOST_COMPARISONS
    for rule in wanted:
        look()
        said = dumps(rule.spec)
        if said not in known:
            found = next((i for i, each in enumerate(owned) if _covers_whole(each, rule)), None)
            budget -= _atoms(rule.spec) * (len(owned) + 1) if found is None else found + 1
            if budget < 0:
                raise TooManyRights
            lacking = chain(_uncovered_resources(owned, rule.spec), _uncovered_urls(owned, rule.spec))
            known[said] = list(islice(lacking, MOST_MISSING + 1)) if found is None else []
        missing += known[said]
        if len(missing) > MOST_MISSING:
            raise TooManyRights
    return missing


def _atoms(spec: JsonObject) -> int:
    verbs, names = len(spec.get("verbs") or ()), len(spec.get("resourceNames") or ()) or 1
    pairs = len(spec.get("apiGroups") or ()) * len(spec.get("resources") or ())
    return verbs * (pairs * names + len(spec.get("nonResourceURLs") or ()))


def _covers_whole(owner: PolicyRule, rule: PolicyRule) -> bool:
    return (
        all(map(owner.covers_verb, rule.verbs))
        and all(map(owner.covers_group, rule.groups))
        and all(map(owner.covers_resource, rule.resources))
        and (not owner.names or (bool(rule.names) and rule.names <= owner.names))
        and all(map(owner.covers_url, rule.urls))
    )


def _uncovered_resources(owned: Sequence[PolicyRule], spec: JsonObject) -> Iterator[JsonObject]:
    names = spec.get("resourceNames") or ("",)
    for group in spec.get("apiGroups") or ():
        of_group = [each for each in owned if each.covers_group(group)]
        for resource in spec.get("resources") or ():
            of_resource = [each for each in of_group if each.covers_resource(resource)]
            for verb in spec.get("verbs") or ():
                of_verb = [each for each in of_resource if each.covers_verb(verb)]
                for name in names:
                    look()
                    if any(each.covers_name(name) for each in of_verb):
                        continue
                    named = {"resourceNames": [name]} if spec.get("resourceNames") else {}
                    yield {"apiGroups": [group], "resources": [resource], "verbs": [verb], **named}


def _uncovered_urls(owned: Sequence[PolicyRule], spec: JsonObject) -> Iterator[JsonObject]:
    for url in spec.get("nonResourceURLs") or ():
        of_url = [each for each in owned if not each.names and each.covers_url(url)]
        for verb in spec.get("verbs") or ():
            look()
            if not any(each.covers_verb(verb) for each in of_url):
                yield {"nonResourceURLs": [url], "verbs": [verb]}


def described(rules: Sequence[JsonObject]) -> list[str]:
    """The texts of uncovered rules for a 403, sorted. Rules that differ only in the verb are joined; a verb may come
    more than once. On an event loop, raises TakesLong if the work takes long.
    """
    joined: dict[tuple[str, str, str | None], JsonObject] = {}
    texts = set()
    for rule in rules:
        look()
        if "nonResourceURLs" in rule:
            texts.add(_text(rule))
            continue
        name = rule["resourceNames"][0] if "resourceNames" in rule else None
        key = (rule["apiGroups"][0], rule["resources"][0], name)
        if key in joined:
            joined[key]["verbs"] += rule["verbs"]
        else:
            joined[key] = {**rule, "verbs": list(rule["verbs"])}
    return sorted(texts.union(map(_text, joined.values())))


def _text(rule: JsonObject) -> str:
    parts = [f"{shown}:{quoted(rule[key])}" for shown, key in _SHOWN if rule.get(key)]
    return "{" + ", ".join(parts) + "}"


def quoted(values: Sequence[str]) -> str:
    """A list of strings as Go's %q prints it."""
    return "[" + " ".join(map(go_quote, values)) + "]"
