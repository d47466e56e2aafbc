"""Tests that only `make test-all` runs: they take many seconds each, or need a current etcd.

The limit is 8 minutes for `make test` on two cores: the time that a newcomer is willing to wait.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]

# folders, files and tests, as pytest names them
LONG = (
    "tests/hostile/",
    "tests/robustness/",
    "tests/engine/",
    "tests/clients/test_deploying_pods.py",
    "tests/clients/test_examples.py",
    "tests/clients/test_podsecurity.py",
    "tests/clients/test_sessions.py",
    "tests/clients/test_stalled.py",
    "tests/clients/test_storms.py",
    "tests/clients/test_workflows.py",
    "tests/integration/access/test_escalation.py",
    "tests/integration/admission/test_policy_rules.py",
    "tests/integration/backups/",
    "tests/integration/clusters/test_memory.py",
    "tests/integration/customresources/test_memory.py",
    "tests/integration/deploy/",
    "tests/integration/doctor/",
    "tests/integration/encryption/",
    "tests/integration/etcd/test_subprocesses.py",
    "tests/integration/faults/",
    "tests/integration/lifecycle/test_election.py",
    "tests/integration/lifecycle/test_faults.py",
    "tests/integration/lifecycle/test_model.py",
    "tests/integration/packaging/",
    "tests/integration/proxies/test_tunnels.py",
    "tests/integration/quotas/test_model.py",
    "tests/integration/reads/test_event_loop.py",
    "tests/integration/reads/test_every_event_once.py",
    "tests/integration/server/test_traces.py",
    "tests/integration/storage_form/test_taking_over.py",
    "tests/integration/testing/test_frameworks.py",
    "tests/integration/testing/test_pages.py",
    "tests/unit/access/test_escalation.py",
    "tests/upstream/node/test_chart.py",
)


# the same, for tests that are run with each version of etcd
ETCD = ("tests/integration/etcd/", "tests/integration/writes/", "tests/integration/reads/test_catching_up.py")


def has_none(path: Path, marks: str) -> bool:
    """Whether a file has no test that `-m` selects, so that it need not be imported."""
    try:
        name = path.relative_to(ROOT).as_posix()
    except ValueError:  # tests of the tests themselves
        return False
    if marks == "not long":
        return name.startswith(LONG)
    if marks == "long or etcd" and name.startswith(ETCD):
        return False
    has_some = name.startswith(LONG) or any(each.startswith(f"{name}::") for each in LONG)
    has_some = has_some or marks not in {"long", "long or etcd"}
    return not has_some and "pytest.mark.long" not in path.read_text(encoding="utf-8")
