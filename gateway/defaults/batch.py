"""Defaults of jobs and cron jobs.

Source: Kubernetes API reference, JobSpec, CronJobSpec; "Parallel execution for Jobs", "Pod replacement policy".
"""

from __future__ import annotations

from gateway.defaults.pod_spec import TEMPLATE
from gateway.defaults.registry import Defaulters
from gateway.defaults.table import compile_table
from gateway.jsontypes import JsonObject

_UNLIMITED = 2**31 - 1


def _counts(spec: JsonObject) -> None:
    """Without completions and parallelism a job runs one pod. backoffLimitPerIndex leaves backoffLimit unlimited."""
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", _UNLIMITED if "backoffLimitPerIndex" in spec else 6)


def _replacement_policy(spec: JsonObject) -> None:
    spec.setdefault("podReplacementPolicy", "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed")


def _labels_of_template(job: JsonObject) -> None:
    template = (job.get("spec") or {}).get("template") or {}
    labels = (template.get("metadata") or {}).get("labels")
    if labels and not job["metadata"].get("labels"):
        job["metadata"]["labels"] = labels  # the same dict, as in Go: both get the labels that are generated later


# Defaults of a job that the template of a cron job does not get; the jobs made from the template get them.
_JOB_SPEC = compile_table(
    {"completionMode?": "NonIndexed", "suspend?": False, "manualSelector?": False},
    _counts,
    _replacement_policy,
)

_TEMPLATE_AND_POLICY = compile_table(
    {"podFailurePolicy.rules[].onPodConditions[].status": "True", "template+": TEMPLATE},
)

DEFAULTERS: Defaulters = {
    ("batch/v1", "Job"): compile_table(
        {"spec+": compile_table({}, _JOB_SPEC, _TEMPLATE_AND_POLICY)},
        _labels_of_template,
    ),
    ("batch/v1", "CronJob"): compile_table(
        {
            "spec+.concurrencyPolicy": "Allow",
            "spec+.suspend?": False,
            "spec+.successfulJobsHistoryLimit?": 3,
            "spec+.failedJobsHistoryLimit?": 1,
            "spec+.jobTemplate+.spec+": _TEMPLATE_AND_POLICY,
        }
    ),
}
