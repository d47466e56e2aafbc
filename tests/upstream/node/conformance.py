"""The [Conformance] specs of Kubernetes' own e2e.test on two nodes of this server.

Writes e2e.log and junit_01.xml, as Hydrophone does. Images are stand-ins that are made here (suite_images.py): a run is
proof, and no certification.
"""

from __future__ import annotations

import os
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.upstream.node import component_images, programs, suite_images
from tests.upstream.node.cluster import Cluster, cluster
from tests.upstream.node.joining import join
from tests.upstream.node.services import add_services, serve_images

NODES = ("n1", "n2")
LOG, REPORT = "e2e.log", "junit_01.xml"
HOURS = 4


@dataclass
class Result:
    """How many specs ended in which way, and the names of those that failed."""

    counts: Counter[str] = field(default_factory=Counter)
    failed: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Chosen:
    """Which specs: those whose names match a regular expression ("": all), and whose labels a filter of Ginkgo's."""

    focus: str = ""
    labels: str = "Conformance"


def run(place: Path, chosen: Chosen, *, is_real: bool = False, at_once: int = 4) -> int:
    """Runs the chosen specs. Returns the exit status.

    The log and the report go into the directory. Raises NoNodes and AssertionError.
    """
    place.mkdir(parents=True, exist_ok=True)
    for old in (LOG, REPORT):
        (place / old).unlink(missing_ok=True)
    with cluster(is_real=is_real) as made:
        serve_images(made, component_images.LAYOUT, suite_images.LAYOUT)
        for name in NODES:
            join(made, name)
        add_services(made)
        before, began = made.use(), time.monotonic()
        status = _specs(made, place, chosen, at_once)
        took, after = time.monotonic() - began, made.use()
    if not (place / REPORT).is_file():
        print(f"e2e.test ended without a report; its log is {place / LOG}")
        return status or 1
    result = read(place / REPORT)
    print(
        f"Kubernetes {programs.KUBERNETES}, {'kube-apiserver' if is_real else 'apiserver-gateway'}, {len(NODES)} nodes"
    )
    print(f"passed {result.counts['passed']}, failed {len(result.failed)}, {took:.0f} s at a load of {_load()}")
    print(f"the API server: {after.cpu - before.cpu:.1f} s of CPU, {after.memory:.0f} MiB at the most")
    print(*(f"FAILED {name}" for name in result.failed), sep="\n", end="\n" if result.failed else "")
    print(f"{place / LOG}\n{place / REPORT}")
    return 1 if result.failed or not result.counts["passed"] else status


def read(report: Path) -> Result:
    """Reads a JUnit report of Ginkgo."""
    result = Result()
    for case in ElementTree.parse(report).iter("testcase"):
        name, status = case.get("name", ""), case.get("status", "")
        if status == "skipped" or case.find("skipped") is not None:
            result.counts["skipped"] += 1
        elif name.startswith("[It]") and status == "passed":
            result.counts["passed"] += 1
        elif status != "passed":  # also of what is around the specs
            result.failed.append(name)
    return result


def _specs(made: Cluster, place: Path, chosen: Chosen, at_once: int) -> int:
    """Runs e2e.test on the control plane's network. Ginkgo runs specs that want to be alone after the others."""
    words = [str(programs.BIN / "ginkgo"), "run", "--no-color", f"--label-filter={chosen.labels}", f"--procs={at_once}"]
    words += [f"--timeout={HOURS}h", "--flake-attempts=1", f"--output-dir={place}", f"--junit-report={REPORT}"]
    words += [f"--focus={chosen.focus}"] if chosen.focus else []
    words += [str(programs.BIN / "e2e.test"), "--", f"--kubeconfig={made.keys.kubeconfig('admin')}"]
    words += ["--provider=skeleton", "--disable-log-dump", "--dump-logs-on-failure=false", "--report-dir="]
    with (place / LOG).open("wb") as log:
        return made.logged(words, log, HOURS * 3600)


def _load() -> str:
    return f"{os.getloadavg()[0]:.0f} on {os.cpu_count()} cores"
