"""The order in which workers of pytest-xdist take files: the longest first, so that no long file is left for the end.

pytest-xdist's own order is by the number of tests, and files with many tests are quick.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

LONGEST = (
    # on a Docker engine, where nothing else runs; a worker takes two files at first
    "tests/engine/test_page.py",
    "tests/engine/test_faults.py",
    "tests/engine/test_restoring.py",
    "tests/engine/test_image.py",
    "tests/engine/test_testcontainers.py",
    "tests/integration/testing/test_pages.py",
    "tests/integration/deploy/test_chart_members.py",
    "tests/integration/clusters/test_conformance.py",
    "tests/integration/clusters/test_memory.py",
    "tests/robustness/test_restarts.py",
    "tests/hostile/test_what_goes.py",
    "tests/hostile/test_memory_of_bodies.py",
    "tests/hostile/test_growing.py",
    "tests/integration/encryption/test_interoperation.py",
    "tests/integration/testing/test_nothing_left.py",
    "tests/clients/test_examples.py",
    "tests/clients/test_deploying_pods.py",
    "tests/integration/etcd/test_apart.py",
    "tests/integration/server/test_start.py",
    "tests/integration/etcd/test_overrides.py",
    "tests/integration/packaging/test_wheel.py",
    "tests/integration/reads/test_every_event_once.py",
    "tests/integration/quotas/test_groups.py",
    "tests/integration/encryption/test_service_away.py",
    "tests/robustness/test_clusters.py",
    "tests/integration/reads/test_event_loop.py",
    "tests/hostile/test_unreadable.py",
    "tests/hostile/test_unreadable_entries.py",
    "tests/hostile/test_lists.py",
    "tests/unit/schema/test_outside.py",
    "tests/hostile/test_contract.py",
    "tests/hostile/test_patterns.py",
    "tests/robustness/test_etcd_in_trouble.py",
    "tests/unit/test_structure.py",
    "tests/integration/server/test_processes.py",
    "tests/clients/test_storms.py",
    "tests/clients/test_podsecurity.py",
    "tests/integration/backups/test_backups.py",
    "tests/integration/quotas/test_model.py",
    "tests/integration/doctor/test_doctor.py",
    "tests/integration/testing/test_frameworks.py",
    "tests/unit/test_log_texts.py",
    "tests/unit/outbound/test_client.py",
    "tests/integration/deploy/test_chart_pods.py",
    "tests/clients/test_stalled.py",
)
"""Files with few tests that together take ten seconds or more: from 140 s to 10 s. .ci/run prints those that lack."""

_WEIGHTS = (("tests/unit/", 1), ("tests/", 20))
"""The average duration of a test in other folders: it starts a program or a server, or shares one with a few tests."""


_LAST = 1_000_000  # the place of a file without tests


def longest_first(nodes: Sequence[str]) -> Callable[[str], int]:
    """The sort key of tests, which keeps the tests of a file together; `nodes` are all of them."""
    count = Counter(_file_of(node) for node in nodes)

    def place(node: str) -> int:
        file = _file_of(node)
        if file in LONGEST:
            return LONGEST.index(file) - len(LONGEST)
        weight = next((weight for start, weight in _WEIGHTS if file.startswith(start)), 1)
        return _LAST - weight * count[file]

    return place


def _file_of(node: str) -> str:
    """The file of a test as pytest names it."""
    return node.partition("::")[0]
