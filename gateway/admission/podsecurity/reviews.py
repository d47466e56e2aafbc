"""Reviews of pods, pod templates and namespaces by the policy in the namespace's labels."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable
from functools import lru_cache

from gateway.admission.kinds import NAMESPACES, PODS
from gateway.admission.podsecurity.check import PROFILES, PodUnderCheck, Violation
from gateway.admission.podsecurity.configuration import PodSecurityConfiguration
from gateway.admission.podsecurity.levels import LABELS, PREFIX, Level, LevelVersion, PodSecurityLevels, policy_of
from gateway.admission.podsecurity.metrics import count_error, count_evaluation, count_exemption
from gateway.admission.podsecurity.registry import violations_of
from gateway.admission.podsecurity.scan import warnings_of
from gateway.admission.podsecurity.updates import is_significant
from gateway.admission.record import Admission
from gateway.admission.refusal import joined, refused
from gateway.http import status
from gateway.jsontypes import JsonObject
from gateway.kinds.objects import Objects
from gateway.kinds.pod_templates import template_of
from gateway.memo import each_time
from gateway.validation.field import FieldError, go_quote


class PodSecurity:
    """The reviews of one configuration."""

    def __init__(self, configuration: PodSecurityConfiguration, objects: Objects, newest: int) -> None:
        """`newest` is the minor that is served."""
        self._newest = newest
        self._defaults, self._exempt, self._objects = configuration.defaults, configuration.exemptions, objects

    def validate_pod(self, admission: Admission) -> Awaitable[None] | None:
        """Refuses, audits and warns. Raises StatusError, at once or when the result is awaited."""
        if self._is_exempt(admission):
            return None
        namespace = self._objects.cached(NAMESPACES, "", admission.namespace)
        return self._validate_later(admission) if namespace is None else self._validate_in(namespace, admission)

    async def _validate_later(self, admission: Admission) -> None:
        """As `validate_pod`, in a namespace that the cache does not have yet."""
        namespace = await self._objects.get(NAMESPACES, "", admission.namespace)
        if namespace is None:
            count_error(admission, fatal=True)
            raise status.internal_error(f"failed to lookup namespace {go_quote(admission.namespace)}")
        waiting = self._validate_in(namespace, admission)
        if waiting is not None:
            await waiting

    def _validate_in(self, namespace: JsonObject, admission: Admission) -> Awaitable[None] | None:
        policy, errors = self._policy(namespace)
        if not errors and policy.fully_privileged:
            count_evaluation(admission, True, "enforce", policy.enforce, self._newest)
            _annotate(admission, "enforce-policy", "privileged:latest")
            return None
        obj, old = admission.obj, admission.old
        assert obj is not None
        if old is not None and not is_significant(obj["spec"], old["spec"]):
            return None
        return self._judge(admission, policy, errors, obj, enforce=True)

    async def validate_template(self, admission: Admission) -> None:
        """Audits and warns. Pods of the template are refused only when they are created."""
        if self._is_exempt(admission):
            return
        namespace = await self._objects.get(NAMESPACES, "", admission.namespace)
        if namespace is None:
            count_error(admission, fatal=True)
            _annotate(admission, "error", f"failed to lookup namespace {go_quote(admission.namespace)}: not found")
            return
        policy, errors = self._policy(namespace)
        if not errors and policy.warn.level is policy.audit.level is Level.PRIVILEGED:
            return
        assert admission.obj is not None
        template = template_of(admission.resource.group, admission.resource.resource, admission.obj)
        if template is not None:
            await self._judge(admission, policy, errors, template, enforce=False)

    async def validate_namespace(self, admission: Admission) -> None:
        """Refuses invalid labels (422), and warns of existing pods that violate a stricter policy."""
        obj, old = admission.obj, admission.old
        assert obj is not None
        policy, errors = self._policy(obj)
        before, errors_before = (None, []) if old is None else self._policy(old)
        if errors and errors != errors_before:
            raise status.invalid("", "Namespace", admission.name, errors)
        exempt = admission.namespace in self._exempt.namespaces
        if before is None:
            if exempt:
                self._warn_of_exemption(admission, obj, policy)
            return
        if not _becomes_stricter(policy.enforce, before.enforce):
            return
        if exempt:
            self._warn_of_exemption(admission, obj, policy)
            return
        name = obj["metadata"]["name"]
        entries = self._objects.entries(PODS, name)
        for text in await warnings_of(entries, name, policy.enforce, self._exempts_class_of, self._newest):
            admission.warn(text)

    def _policy(self, namespace: JsonObject) -> tuple[PodSecurityLevels, list[FieldError]]:
        labels = namespace["metadata"].get("labels") or {}
        return _policy_of(tuple(map(labels.get, LABELS)), self._defaults)

    def _is_exempt(self, admission: Admission) -> bool:
        """Whether the namespace or the user is exempt; says so in the audit record."""
        if admission.namespace in self._exempt.namespaces:
            reason = "namespace"
        elif admission.user.name in self._exempt.usernames:
            reason = "user"
        else:
            return False
        count_exemption(admission)
        _annotate(admission, "exempt", reason)
        return True

    def _exempts_class_of(self, spec: JsonObject) -> bool:
        return spec.get("runtimeClassName") in self._exempt.runtime_classes

    async def _judge(
        self,
        admission: Admission,
        policy: PodSecurityLevels,
        errors: list[FieldError],
        pod: JsonObject,
        *,
        enforce: bool,
    ) -> None:
        """Judges a pod, or a template of one, in all modes. Raises StatusError."""
        spec = pod.get("spec") or {}
        if self._exempts_class_of(spec):
            count_exemption(admission)
            _annotate(admission, "exempt", "runtimeClass")
            return
        if errors:
            _annotate(admission, "error", f"Failed to parse policy: {joined([str(each) for each in errors])}")
            count_error(admission, fatal=False)
        subject = PodUnderCheck(pod.get("metadata") or {}, spec)
        known = admission if enforce and not _has_profiles(subject) else None
        modes = policy.modes if enforce else policy.modes[1:]
        found = await _found(policy, modes, subject, known, self._newest)
        refused_for = found[policy.enforce] if enforce else []
        if enforce:
            _annotate(admission, "enforce-policy", str(policy.enforce))
            count_evaluation(admission, not refused_for, "enforce", policy.enforce, self._newest)
        if audited := found[policy.audit]:
            _annotate(admission, "audit-violations", _would_violate(policy.audit, audited))
            count_evaluation(admission, False, "audit", policy.audit, self._newest)
        if refused_for:
            level = go_quote(str(policy.enforce))
            raise refused(admission, admission.obj, f"violates PodSecurity {level}: {_listed(refused_for)}")
        if warned := found[policy.warn]:
            admission.warn(_would_violate(policy.warn, warned))
            count_evaluation(admission, False, "warn", policy.warn, self._newest)

    def _warn_of_exemption(self, admission: Admission, namespace: JsonObject, policy: PodSecurityLevels) -> None:
        """Warns that the labels of an exempt namespace have no effect."""
        if policy.fully_privileged or policy.equivalent(self._defaults):
            return
        labels = namespace["metadata"].get("labels") or {}
        ignored = ", ".join(
            f"{name}={mode}"
            for name, mode in zip(("enforce", "audit", "warn"), policy.modes, strict=True)
            if mode.level is not Level.PRIVILEGED
            and (f"{PREFIX}{name}" in labels or f"{PREFIX}{name}-version" in labels)
        )
        name = go_quote(namespace["metadata"]["name"])
        admission.warn(f"namespace {name} is exempt from Pod Security, and the policy ({ignored}) will be ignored")


@lru_cache(1024)
def _policy_of(
    values: tuple[str | None, ...], defaults: PodSecurityLevels
) -> tuple[PodSecurityLevels, list[FieldError]]:
    """The policy of the values of `LABELS`, None for those that are not set."""
    labels = {label: value for label, value in zip(LABELS, values, strict=True) if value is not None}
    return policy_of(labels, defaults)


async def _found(
    policy: PodSecurityLevels, modes: Iterable[LevelVersion], pod: PodUnderCheck, known: Admission | None, newest: int
) -> dict[LevelVersion, list[Violation]]:
    """The pod's violations of each of the policy's modes.

    They depend on the spec of `known` alone; it is None if the checks read more of the pod than its spec.
    """
    of_spec = each_time if known is None else known.of_spec
    if of_spec(policy, _unknown):
        return {mode: [] for mode in modes}
    found = {mode: await violations_of(mode, pod, newest) for mode in set(modes)}
    if not any(found.values()):
        of_spec(policy, lambda: True)
    return found


def _unknown() -> bool | None:
    return None


def _becomes_stricter(now: LevelVersion, before: LevelVersion) -> bool:
    """Whether pods that were allowed before may be refused now."""
    if now == before or now.level is Level.PRIVILEGED:
        return False
    return now.minor != before.minor or now.level > before.level


def _has_profiles(pod: PodUnderCheck) -> bool:
    """Whether annotations may name seccomp or AppArmor profiles, which checks read beside the spec."""
    return any(PROFILES in key for key in pod.annotations)


def _annotate(admission: Admission, key: str, value: str) -> None:
    admission.annotate(PREFIX + key, value)


def _listed(found: list[Violation]) -> str:
    return ", ".join(map(str, found))


def _would_violate(policy: LevelVersion, found: list[Violation]) -> str:
    return f"would violate PodSecurity {go_quote(str(policy))}: {_listed(found)}"
