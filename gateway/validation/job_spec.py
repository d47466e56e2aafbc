"""The spec of a Job, in a Job and in the template of a CronJob (page "Jobs")."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.validation.field import FieldError, invalid, not_supported, required, too_long, too_many
from gateway.validation.formats import NOT_NEGATIVE, validate_domain_prefixed_path
from gateway.validation.internal_form import internal_json
from gateway.validation.job_indexes import IndexFormatError, parse_indexes
from gateway.validation.job_policies import validate_pod_failure_policy
from gateway.validation.job_scheduling import validate_job_scheduling
from gateway.validation.names import byte_length
from gateway.validation.pod_options import PodOptions
from gateway.validation.pod_template import validate_pod_template
from gateway.validation.workload import validate_counts

_COUNTS = ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished")
_MAX_PARALLELISM = _MAX_FAILED = _MANY_COMPLETIONS = 100_000
_MAX_WITH_MANY = 10_000
_WITH_MANY = (
    f"must be less than or equal to {_MAX_WITH_MANY} when completions are above {_MANY_COMPLETIONS} and used with "
    "backoff limit per index"
)
_REPLACEMENT = ("Failed", "TerminatingOrFailed")
_MAX_RULES, _MAX_INDEXES_LENGTH = 20, 64 * 1024


def validate_job_spec(spec: JsonObject, path: str, errors: list[FieldError], options: PodOptions) -> None:
    """Checks everything but the selector, which Job templates of CronJobs do not have."""
    validate_counts(spec, (*_COUNTS, "backoffLimitPerIndex"), path, errors)
    if "maxFailedIndexes" in spec:
        validate_counts(spec, ("maxFailedIndexes",), path, errors)
        if "backoffLimitPerIndex" not in spec:
            errors.append(required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    manager = spec.get("managedBy")
    if manager is not None:
        errors += validate_domain_prefixed_path(f"{path}.managedBy", manager)
        if byte_length(manager) > 63:
            errors.append(too_long(f"{path}.managedBy", 63))
    mode = spec.get("completionMode", "NonIndexed")
    if mode not in ("NonIndexed", "Indexed"):
        errors.append(not_supported(f"{path}.completionMode", mode, ("NonIndexed", "Indexed")))
    if mode == "Indexed":
        _indexed(spec, path, errors)
    elif mode == "NonIndexed":
        for key in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if key in spec:
                errors.append(invalid(f"{path}.{key}", spec[key], "requires indexed completion mode"))
    if "podFailurePolicy" in spec:
        validate_pod_failure_policy(spec, f"{path}.podFailurePolicy", errors)
    if "successPolicy" in spec:
        _success_policy(spec, mode, f"{path}.successPolicy", errors)
    _replacement(spec, f"{path}.podReplacementPolicy", errors)
    errors += validate_job_scheduling(spec, path)
    template = spec.get("template") or {}
    validate_pod_template(template, f"{path}.template", errors, options)
    _restart_policy(spec, template, f"{path}.template.spec.restartPolicy", errors)


def _indexed(spec: JsonObject, path: str, errors: list[FieldError]) -> None:
    completions, parallelism, failed = (spec.get(k) for k in ("completions", "parallelism", "maxFailedIndexes"))
    if completions is None:
        errors.append(required(f"{path}.completions", "when completion mode is Indexed"))
    if parallelism is not None and parallelism > _MAX_PARALLELISM:
        text = f"must be less than or equal to {_MAX_PARALLELISM} when completion mode is Indexed"
        errors.append(invalid(f"{path}.parallelism", parallelism, text))
    at = f"{path}.maxFailedIndexes"
    if failed is not None:
        if completions is not None and failed > completions:
            errors.append(invalid(at, failed, "must be less than or equal to completions"))
        if failed > _MAX_FAILED:
            errors.append(invalid(at, failed, f"must be less than or equal to {_MAX_FAILED}"))
    if completions is None or completions <= _MANY_COMPLETIONS or "backoffLimitPerIndex" not in spec:
        return
    if failed is None:
        errors.append(required(at, f"must be specified when completions is above {_MANY_COMPLETIONS}"))
    if parallelism is not None and parallelism > _MAX_WITH_MANY:
        errors.append(invalid(f"{path}.parallelism", parallelism, _WITH_MANY))
    if failed is not None and failed > _MAX_WITH_MANY:
        errors.append(invalid(at, failed, _WITH_MANY))


def _replacement(spec: JsonObject, path: str, errors: list[FieldError]) -> None:
    policy = spec.get("podReplacementPolicy")
    supported = _REPLACEMENT[:1] if "podFailurePolicy" in spec else _REPLACEMENT
    if policy is not None and policy not in supported:
        errors.append(not_supported(path, policy, supported))


def _restart_policy(spec: JsonObject, template: JsonObject, path: str, errors: list[FieldError]) -> None:
    policy = (template.get("spec") or {}).get("restartPolicy", "")
    if policy in ("Always", ""):
        errors.append(required(path, 'valid values: "OnFailure", "Never"'))
    elif policy not in ("OnFailure", "Never"):
        errors.append(not_supported(path, policy, ("OnFailure", "Never")))
    elif "podFailurePolicy" in spec and policy != "Never":
        errors.append(invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified'))


def _success_policy(spec: JsonObject, mode: str, path: str, errors: list[FieldError]) -> None:
    policy = spec["successPolicy"]
    if mode != "Indexed":
        errors.append(invalid(path, internal_json("SuccessPolicy", policy), "requires indexed completion mode"))
        return
    rules, at = policy.get("rules") or [], f"{path}.rules"
    if not rules:
        errors.append(required(at, "at least one rules must be specified when the successPolicy is specified"))
    if len(rules) > _MAX_RULES:
        errors.append(too_many(at, len(rules), _MAX_RULES))
    for i, rule in enumerate(rules):
        _success_rule(rule, spec.get("completions", 0), f"{at}[{i}]", errors)


def _success_rule(rule: JsonObject, completions: int, path: str, errors: list[FieldError]) -> None:
    count, indexes, total = rule.get("succeededCount"), rule.get("succeededIndexes"), 0
    if count is None and indexes is None:
        errors.append(required(path, "at least one of succeededCount or succeededIndexes must be specified"))
    if indexes is not None:
        at = f"{path}.succeededIndexes"
        if byte_length(indexes) > _MAX_INDEXES_LENGTH:
            errors.append(too_long(at, _MAX_INDEXES_LENGTH))
        try:
            total = sum(last - first + 1 for first, last in parse_indexes(indexes, completions))
        except IndexFormatError as error:
            errors.append(invalid(at, indexes, f"error parsing succeededIndexes: {error}"))
    if count is None:
        return
    at = f"{path}.succeededCount"
    if count < 0:
        errors.append(invalid(at, count, NOT_NEGATIVE))
    if count > completions:
        text = f"must be less than or equal to {completions} (the number of specified completions)"
        errors.append(invalid(at, count, text))
    if indexes is not None and count > total:
        text = f"must be less than or equal to {total} (the number of indexes in the specified succeededIndexes field)"
        errors.append(invalid(at, count, text))
