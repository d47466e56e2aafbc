#!/usr/bin/env python3
"""Compares a throw-away server with recordings of a real kube-apiserver; exit 1 if a scenario differs unexpectedly.

    hack/conformance.py DIR [--topics lists,watches] [--expected FILE] [--report FILE]

DIR holds conformance.py, scenarios/, golden/ and tokens.csv. FILE lists the scenarios that are known to differ, one a
line, with the reason after a "#". A scenario that differs is run once more, alone, before it counts. What was found is
written to --report, of which hack/compatibility.py makes a page.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from apiserver_gateway.testing import api_server  # noqa: E402
from storage.embedded import EmbeddedEtcd  # noqa: E402
from storage.etcd import EtcdClient, EtcdSettings  # noqa: E402

TOPICS = "access,lists,watches,objects,discovery,patches,apply,fields,representations,deletion,customresources"
EXPECTED = ROOT / ".ci" / "conformance-expected.txt"
TOKEN = "tok"
FLAGS = (  # those of the server that was recorded
    "--disable-admission-plugins=ServiceAccount",
    "--service-cluster-ip-range=10.0.0.0/24",
    "--service-account-issuer=https://k",
    "--allow-privileged",
    "--authorization-mode=RBAC",
    "--controllers=namespace-controller,garbage-collector-controller,clusterrole-aggregation-controller",
)
Report = dict[str, list[dict[str, Any]]]


def main() -> int:
    """The process's exit status comes out."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--topics", default=TOPICS)
    parser.add_argument("--expected", type=Path, default=EXPECTED)
    parser.add_argument("--jobs", type=int, default=6)
    parser.add_argument("--report", type=Path)
    options = parser.parse_args()
    expected = read_expected(options.expected)
    topics = options.topics.split(",")
    with EmbeddedEtcd() as etcd:
        asyncio.run(age(etcd.endpoint))
        tokens = f"--token-auth-file={options.directory / 'tokens.csv'}"
        with api_server(*FLAGS, tokens, etcd_servers=etcd.endpoint) as server:
            paths = [options.directory / "scenarios" / topic for topic in topics]
            report = check(options.directory, server.url, paths, "", options.jobs)
            again = sorted(name for name, found in report.items() if found and name not in expected)
            if again:
                pattern = "|".join(f"^{re.escape(name)}$" for name in again)
                print(f"once more: {', '.join(again)}", flush=True)
                report |= check(options.directory, server.url, paths, pattern, 1)
    if options.report:
        options.report.write_text(json.dumps(report))
    return verdict(report, expected, set(topics))


def read_expected(file: Path) -> dict[str, str]:
    """Scenario -> why it differs."""
    lines = [line.partition("#") for line in file.read_text().splitlines()]
    return {name.strip(): reason.strip() for name, _, reason in lines if name.strip()}


async def age(endpoint: str) -> None:
    """Gives etcd a past and has it forget that: scenarios expect revision 1 to be gone."""
    async with EtcdClient(EtcdSettings((endpoint,))) as client:
        for _ in range(8):
            await client.put(b"/past", b"")
        await client.compact(await client.revision())


def check(directory: Path, url: str, paths: list[Path], only: str, jobs: int) -> Report:
    """Runs the comparison, which prints what differs; gives the differences by scenario. Raises SystemExit."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        command: list[str | Path] = [
            sys.executable,
            directory / "conformance.py",
            "check",
            f"--server={url}",
            f"--token={TOKEN}",
        ]
        command += [f"--golden={directory / 'golden'}", f"--json={report.name}", f"--jobs={jobs}", f"--only={only}"]
        done = subprocess.run([*command, "--diffs=3", *paths])
        content = Path(report.name).read_text()
    if not content:
        sys.exit(f"the comparison ended with {done.returncode} and no report")
    found: Report = json.loads(content)
    return found


def verdict(report: Report, expected: dict[str, str], topics: set[str]) -> int:
    """Prints what is not as expected, and gives the exit status."""
    differing = {name for name, found in report.items() if found}
    unexpected = sorted(differing - expected.keys())
    mended = sorted(name for name in expected if name.partition("/")[0] in topics and name not in differing)
    for name in mended:
        print(f"{name} is as recorded now: take it off the list")
    for name in unexpected:
        print(f"UNEXPECTED: {name} differs")
    same = len(report) - len(differing)
    print(f"conformance: {same} of {len(report)} scenarios as recorded, {len(unexpected)} differ unexpectedly")
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main())
