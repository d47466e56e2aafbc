"""The webhooks in force, each compiled once, found by the resource and operation that they match.

Changes are applied in the turn of the event loop in which the watch cache gets them. So a webhook is in force when the
write of its configuration is answered.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from gateway.admission.matcher import Constraints, InForce
from gateway.jsontypes import JsonObject
from gateway.kinds.registry import Registry
from gateway.release.gates import Enabled
from gateway.release.release import DEFAULT_GATES
from gateway.webhooks.client import Webhooks
from storage.entry import Entry
from storage.followers import ByName
from storage.instruments import owners

if TYPE_CHECKING:
    from gateway.admission.expressions import MatchConditions

GUARDED = frozenset(
    f"{sort}{what}"
    for sort in ("validating", "mutating")
    for what in ("webhookconfigurations", "admissionpolicies", "admissionpolicybindings")
)
"""Resources whose writes only webhooks from files see, so that a broken webhook can be removed."""

REVIEW_VERSIONS = ("v1", "v1beta1")
_NO_SIDE_EFFECTS = ("None", "NoneOnDryRun")


class Hook:
    """One webhook of a configuration. `index` is its place among all of its kind, which audit annotations name."""

    __slots__ = (
        "_conditions",
        "_enabled",
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

    def __init__(
        self,
        configuration: str,
        position: int,
        hook: JsonObject,
        origin: str = "",
        enabled: Enabled = DEFAULT_GATES.enabled,
    ) -> None:
        self._enabled = enabled
        self.configuration, self.name, self.index = configuration, str(hook["name"]), 0
        self.uid = f"{origin}{configuration}/{self.name}/{position}"
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
        """Its match conditions, compiled at the first use; None if it has none."""
        if self._conditions is None and self._given:
            from gateway.admission.expressions import MatchConditions  # imported late: few webhooks need it
            from gateway.cel.editions import edition_of

            self._conditions = MatchConditions.compile(self._given, edition=edition_of(self._enabled))
        return self._conditions


class Hooks(InForce[Hook]):
    """All mutating or all validating webhooks, by the names of their configurations, then in the order within them.

    `configurations` follows the stored configurations by name.
    """

    guarded = GUARDED

    def __init__(self, registry: Registry, client: Webhooks) -> None:
        """`client` calls them."""
        super().__init__(registry)
        self.client = client
        self.informed = False
        self._enabled = registry.release.gates.enabled
        self.configurations: ByName[tuple[Hook, ...]] = ByName("admission-webhooks", self._read, self._changed)

    def guard(self, configurations: Sequence[JsonObject]) -> None:
        """Replaces the webhooks from files by those of these configurations."""
        hooks = (hook for each in configurations for hook in _hooks(each, self._enabled, "manifest/"))
        self._take_files([(hook, hook.constraints) for hook in hooks])

    def _read(self, entry: Entry, before: object) -> tuple[Hook, ...]:
        return _hooks(entry.parsed(), self._enabled)

    def _changed(self, names: Collection[str], revision: int) -> None:
        self.informed = revision > 0
        for name in names:
            hooks = self.configurations.all.get(name, ())
            owners.hold((id(self), name), [("webhook", hook.name) for hook in hooks])
        self._forget()

    def _is_empty(self) -> bool:
        return self.informed and not self.configurations.all

    def _all(self, of_files: Sequence[tuple[Hook, Constraints]]) -> Sequence[tuple[Hook, Constraints]]:
        known = self.configurations.all
        found = [*of_files, *((hook, hook.constraints) for name in sorted(known) for hook in known[name])]
        for index, (hook, _) in enumerate(found):
            hook.index = index
        return found


def _hooks(configuration: JsonObject, enabled: Enabled, origin: str = "") -> tuple[Hook, ...]:
    name, hooks = configuration["metadata"]["name"], configuration.get("webhooks") or ()
    return tuple(Hook(name, i, hook, origin, enabled) for i, hook in enumerate(hooks))
