"""The webhooks that are in force, compiled once each and found by what they are about.

They are followed in the turn in which configurations change, so that one is in force once its write is answered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gateway.admission.matching import Candidate, Constraints, Matcher
from gateway.admission.record import Operation
from gateway.jsontypes import JsonObject
from gateway.kinds.registry import Registry
from gateway.kinds.resource import Resource
from gateway.webhooks.client import Webhooks
from storage.cache import ResourceCache, WatchCache
from storage.entry import ChangeType
from storage.tap import Batch, State, listen

if TYPE_CHECKING:
    from gateway.admission.expressions import MatchConditions

GROUP = "admissionregistration.k8s.io"
EXEMPT = frozenset(
    f"{sort}{what}"
    for sort in ("validating", "mutating")
    for what in ("webhookconfigurations", "admissionpolicies", "admissionpolicybindings")
)
"""What no webhook is asked about but those of files, so that a broken one can be removed."""

REVIEW_VERSIONS = ("v1", "v1beta1")
_NO_SIDE_EFFECTS = ("None", "NoneOnDryRun")


class Hook:
    """One webhook of a configuration. `index` is its place among all of its sort: audit annotations name it so."""

    __slots__ = (
        "_conditions",
        "_given",
        "client",
        "configuration",
        "constraints",
        "dry_runs",
        "fails",
        "index",
        "name",
        "reinvoked",
        "timeout",
        "uid",
        "version",
    )

    def __init__(self, configuration: str, position: int, hook: JsonObject) -> None:
        self.configuration, self.name, self.index = configuration, str(hook["name"]), 0
        self.uid = f"{configuration}/{self.name}/{position}"
        self.client: JsonObject = hook.get("clientConfig") or {}
        self.constraints = Constraints.of(hook, "rules")
        self.fails = hook.get("failurePolicy", "Fail") != "Ignore"
        self.dry_runs = hook.get("sideEffects") in _NO_SIDE_EFFECTS
        self.timeout = float(hook.get("timeoutSeconds") or 10)
        self.reinvoked = hook.get("reinvocationPolicy") == "IfNeeded"
        versions = hook.get("admissionReviewVersions") or ()
        self.version = next((each for each in versions if each in REVIEW_VERSIONS), "")
        self._given: Sequence[JsonObject] = hook.get("matchConditions") or ()
        self._conditions: MatchConditions | None = None

    @property
    def conditions(self) -> MatchConditions | None:
        """Its match conditions, compiled when they are first asked; None where it has none."""
        if self._conditions is None and self._given:
            from gateway.admission.expressions import MatchConditions  # what compiles, which few need

            self._conditions = MatchConditions.compile(self._given)
        return self._conditions


class Hooks:
    """All webhooks of one sort, mutating or validating: by the names of their configurations, then in their order."""

    def __init__(self, registry: Registry, client: Webhooks, static: Sequence[JsonObject] = ()) -> None:
        """`client` calls them; `static` are configurations of files, which come first."""
        self.registry, self.client = registry, client
        self.informed = False  # whether the configurations of the cluster are known
        self._static = tuple(hook for each in static for hook in _hooks(each))
        self._guards = Matcher([(hook, hook.constraints) for hook in self._static], registry)
        self._known: dict[str, tuple[Hook, ...]] = {}
        self._matcher: Matcher[Hook] | None = None

    def follow(self, cache: WatchCache, configurations: ResourceCache) -> Callable[[], None]:
        """Keeps itself up to date; gives what ends it."""

        def tell(batch: Batch) -> None:
            if isinstance(batch, State):
                self._known = dict(_named(entry.parsed()) for entry in batch.entries[configurations])
                self.informed = batch.revision > 0
            else:
                for told in batch.told:
                    obj = told.change.entry.parsed()
                    if told.change.type is ChangeType.DELETED:
                        self._known.pop(obj["metadata"]["name"], None)
                    else:
                        name, hooks = _named(obj)
                        self._known[name] = hooks
            self._matcher = None

        return listen(cache, [configurations], tell)

    def of(self, resource: Resource, operation: Operation) -> Sequence[Candidate[Hook]]:
        """The webhooks that may concern an operation on a resource, in their order.

        Those of files alone are asked about the configuration of admission itself.
        """
        if resource.group == GROUP and resource.resource in EXEMPT:
            return self._guards.of(resource, operation)
        matcher = self._matcher
        if matcher is None:
            matcher = self._matcher = self._compiled()
        return matcher.of(resource, operation)

    def _compiled(self) -> Matcher[Hook]:
        found = [*self._static, *(hook for name in sorted(self._known) for hook in self._known[name])]
        for index, hook in enumerate(found):
            hook.index = index
        return Matcher([(hook, hook.constraints) for hook in found], self.registry)


def _named(configuration: JsonObject) -> tuple[str, tuple[Hook, ...]]:
    return configuration["metadata"]["name"], _hooks(configuration)


def _hooks(configuration: JsonObject) -> tuple[Hook, ...]:
    name = configuration["metadata"]["name"]
    return tuple(Hook(name, i, hook) for i, hook in enumerate(configuration.get("webhooks") or ()))
