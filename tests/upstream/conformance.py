"""Compares throw-away servers with recordings of a real kube-apiserver; exit 1 if a step differs unexpectedly.

    python -m tests.upstream conformance DIR [--golden NAME] [--topics lists,watches]
        [--apart /pods,/configmaps] [--expected FILE] [--report FILE] [--control-plane]

DIR holds conformance.py, scenarios/, golden/ and tokens.csv. NAME is a folder of recordings: golden has those of
Kubernetes 1.36, golden-1.35 those of 1.35. Without it they are those of the default minor, and the servers are started
without --kubernetes-version; else they serve the minor of the recordings. Topics that were recorded with the same
controllers share a server. Wording is compared too, but for what WORDING names. FILE lists the
steps that are known to differ, with the reason; without --expected it is the list of the minor in .ci/. What was found
is written to --report, of which tests/upstream/compatibility.py makes a page. With --control-plane, the scenarios are
sent to a control plane of each server, and one more list says what differs there.

Scenarios whose hosts need an address that is not loopback run in a network namespace made for them, which takes root
and the commands unshare and ip; without those they are left out, and that is said.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apiserver_gateway.testing import ApiServer, Refused
from apiserver_gateway.testing.clusters import made as cluster_of
from apiserver_gateway.testing.requests import answer
from gateway.release.minors import DEFAULT, GIT_VERSIONS
from tests.hasty import hasty
from tests.upstream.aged import aged, past
from tests.upstream.in_plane import rewritten
from tests.upstream.unhurried import unhurried
from tests.upstream.unreached import shortened
from tests.upstream.waits import longest_first

ROOT = Path(__file__).resolve().parents[2]
FIRST = "1.36"  # the minor of the folder that has no minor in its name
TOKEN = "tok"
PATIENCE = 120.0  # seconds until a server is ready, on a busy machine too
ADDRESS = "10.77.0.1"  # of a host in the network namespace of the run
FLAGS = (  # the flags of the recorded server
    "--disable-admission-plugins=ServiceAccount",
    "--service-cluster-ip-range=10.0.0.0/24",
    "--service-account-issuer=https://k",
    "--allow-privileged",
    "--authorization-mode=RBAC",
)
RECORDED = {"gateway.controllers.namespaces.GRACE": 5.0}  # as kube-controller-manager has it, which was recorded
# What may differ in wording, by the path of a difference, and why.
WORDING = (
    re.compile(r"/columnDefinitions/\d+/description$"),  # the published models have a part of these descriptions alone
)
_OF_PLANES = "--control-planes", f"--control-planes-reach=127.0.0.0/8,{ADDRESS}/32"
IN_PLANE = ROOT / ".ci" / "conformance-expected-control-plane.txt"
_ALWAYS = ("namespace-controller", "garbage-collector-controller")


@dataclass(frozen=True, slots=True)
class Group:
    """Topics for one server, and the controllers that run in it (golden/VERSION of the recordings)."""

    topics: tuple[str, ...]
    controllers: tuple[str, ...] = ()


GROUPS = (
    Group(
        (
            *("access", "lists", "watches", "objects", "discovery", "patches", "apply", "fields"),
            *("representations", "deletion", "customresources", "webhooks", "proxies"),
        ),
        ("clusterrole-aggregation-controller",),
    ),
    Group(
        ("policies", "quotas", "podsecurity", "plugins"),
        (
            "clusterrole-aggregation-controller",
            "resourcequota-controller",
            "validatingadmissionpolicy-status-controller",
        ),
    ),
    Group(("aggregation",)),  # it makes groups unavailable
)
TOPICS = tuple(topic for group in GROUPS for topic in group.topics)
Report = dict[str, list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Exemption:
    """Steps of a scenario that are known to differ, and why."""

    steps: frozenset[str]
    reason: str


def main(words: Sequence[str]) -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--golden", default=golden_of(DEFAULT), help="the folder of recordings in DIR")
    parser.add_argument("--topics", default=",".join(TOPICS))
    parser.add_argument("--only", default="", help="a regular expression on scenario names")
    parser.add_argument("--expected", type=Path)
    parser.add_argument("--jobs", type=int, default=12, help="scenarios at once: they wait for most of their time")
    parser.add_argument("--apart", default="", help="resources (group/resource) that are kept in a second etcd")
    parser.add_argument("--report", type=Path)
    parser.add_argument("--control-plane", action="store_true", help="send the scenarios to a control plane")
    options = parser.parse_args(words)
    options.directory = options.directory.resolve()
    topics = set(options.topics.split(","))
    if strange := topics - set(TOPICS):
        parser.error(f"there are no topics {', '.join(sorted(strange))}")
    if can_enter_namespace() and "CONFORMANCE_HOST_IP" not in os.environ:
        return in_namespace(words)
    expected = read_expected(options.expected or expected_of(minor_of(options.golden)))
    if options.control_plane:
        expected = together(expected, read_expected(IN_PLANE))
    report = in_groups(options, topics)
    if options.report:
        options.report.write_text(json.dumps(report))
    return verdict(report, expected, topics if not options.only else set())


def can_enter_namespace() -> bool:
    """Whether a network namespace can be created for the run."""
    return os.geteuid() == 0 and shutil.which("unshare") is not None and shutil.which("ip") is not None


def in_namespace(words: Sequence[str]) -> int:
    """Runs this program again in a network namespace with loopback and another address. Returns its exit status."""
    # the address is on the interface lo, but is not a loopback address: some kernels have no dummy interfaces
    steps = ("ip link set lo up", f"ip addr add {ADDRESS}/32 dev lo", 'exec "$@"')
    command = ["unshare", "--net", "sh", "-ec", "; ".join(steps), "sh"]
    command += [sys.executable, "-m", "tests.upstream", "conformance", *words]
    probed = subprocess.run(["unshare", "--net", "sh", "-ec", "; ".join(steps), "sh", "true"], capture_output=True)
    where = os.environ | {"CONFORMANCE_HOST_IP": ADDRESS if probed.returncode == 0 else ""}
    return subprocess.run(command if probed.returncode == 0 else command[6:], env=where).returncode


def in_groups(options: argparse.Namespace, topics: set[str]) -> Report:
    """Compares the topics of one group after the other. Returns the differences by scenario."""
    report: Report = {}
    with past() as data:
        for group in GROUPS:
            if not (wanted := [topic for topic in group.topics if topic in topics]):
                continue
            with ExitStack() as begun:
                flags, etcd = [*flags_of(options, group)], aged(begun, data)
                if options.apart:
                    other = aged(begun, data)
                    overrides = ",".join(f"{each}#{other}" for each in options.apart.split(","))
                    flags += [f"--etcd-servers-overrides={overrides}", "--testing-api=false"]
                report |= compared(options, flags, etcd, wanted)
    return report


def flags_of(options: argparse.Namespace, group: Group) -> Iterator[str]:
    """The flags of the server of a group."""
    yield from FLAGS
    yield f"--controllers={','.join((*_ALWAYS, *group.controllers))}"
    yield f"--token-auth-file={options.directory / 'tokens.csv'}"
    if options.control_plane:
        yield from _OF_PLANES
    minor = minor_of(options.golden)
    if minor in GIT_VERSIONS and minor != DEFAULT:
        yield f"--kubernetes-version={minor}"


def compared(options: argparse.Namespace, flags: list[str], etcd: str, topics: list[str]) -> Report:
    """Compares topics on a new server, or on a control plane of it. Returns the differences by scenario."""
    golden = options.directory / options.golden
    with tempfile.TemporaryDirectory() as kept, hasty(RECORDED, *flags, etcd_servers=etcd) as server:
        until_ready(server)
        copies, asked, scenarios = Path(kept), (server.url, TOKEN), options.directory / "scenarios"
        if options.control_plane:
            made = cluster_of(server, "plane")
            asked, scenarios = (made.url, made.token), rewritten(options.directory, copies / "plane", made.token)
        scenarios = shortened(unhurried(scenarios, copies / "unhurried"), golden, copies / "shortened")
        paths = longest_first(scenarios / each for each in topics)
        return check(options.directory, golden, asked, paths, options.only, options.jobs)


def until_ready(server: ApiServer) -> None:
    """Waits until a server has all objects that the recorded one had before its first step. Raises Refused."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            with answer(server, "GET", "/readyz"):
                return
        except Refused:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def golden_of(minor: str) -> str:
    """The folder of recordings of a minor."""
    return "golden" if minor == FIRST else f"golden-{minor}"


def minor_of(golden: str) -> str:
    """The Kubernetes minor of a folder of recordings."""
    return golden.removeprefix("golden").removeprefix("-") or FIRST


def expected_of(minor: str) -> Path:
    """The list of known differences for a minor; that of the default minor if it has none."""
    own, default = (ROOT / ".ci" / f"conformance-expected-{each}.txt" for each in (minor, DEFAULT))
    return own if own.exists() else default


def read_expected(file: Path) -> dict[str, Exemption]:
    """Reads a list: maps scenario to its known differences. A line is `topic/scenario [step; another step]  #
    reason`.
    """
    found = {}
    for line in file.read_text().splitlines():
        text, _, reason = line.partition("#")
        if text.strip():
            name, _, steps = text.strip().removesuffix("]").partition("[")
            labels = frozenset(step.strip() for step in steps.split(";"))
            found[name.strip()] = Exemption(labels, reason.strip())
    return found


def together(expected: dict[str, Exemption], more: dict[str, Exemption]) -> dict[str, Exemption]:
    """Two lists as one."""
    found = dict(expected)
    for name, each in more.items():
        before = found.get(name, Exemption(frozenset(), ""))
        found[name] = Exemption(before.steps | each.steps, each.reason)
    return found


def check(directory: Path, golden: Path, asked: tuple[str, str], paths: list[Path], only: str, jobs: int) -> Report:
    """Runs the comparison, which prints the differences. Returns them by scenario. Raises SystemExit."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        command: list[str | Path] = [
            sys.executable,
            directory / "conformance.py",
            "check",
            *(f"--{name}={given}" for name, given in zip(("server", "token"), asked, strict=True)),
            "--strict-messages",
            "--diffs=0",
        ]
        command += [f"--golden={golden}", f"--json={report.name}", f"--jobs={jobs}", f"--only={only}"]
        done = subprocess.run([*command, *paths], capture_output=True, text=True)
        for line in done.stdout.splitlines():
            if not line.startswith(("DIFFERS", "    ")):
                print(line, flush=True)
        content = Path(report.name).read_text()
    if not content:
        sys.exit(f"the comparison ended with {done.returncode} and no report:\n{done.stdout}{done.stderr}")
    found: Report = json.loads(content)
    return {name: _that_count(rows, golden / f"{name}.json") for name, rows in found.items()}


def _that_count(rows: list[dict[str, Any]], recording: Path) -> list[dict[str, Any]]:
    rows = [each for each in rows if not _may_differ(each["path"])]
    return in_any_second(rows, json.loads(recording.read_text())) if rows else []


def _may_differ(path: str) -> bool:
    return any(pattern.search(path) for pattern in WORDING)


MANAGED = "/managedFields/"


def in_any_second(rows: list[dict[str, Any]], recorded: Any) -> list[dict[str, Any]]:
    """The differences from what is `recorded`, except those that depend on when, within a second, a step was made.

    managedFields are sorted by their times, which have whole seconds, then by their names. So two writes within one
    second are sorted in another way than writes in two seconds. The entries may therefore be in another order than the
    recorded ones; also those of an object that a message shows.
    """
    by_list: dict[str, list[dict[str, Any]]] = {}
    rows = [each for each in rows if not _shows_another_order(each["want"], each["got"])]
    for each in rows:
        before, found, _ = each["path"].partition(MANAGED)
        if found:
            by_list.setdefault(before, []).append(each)
    moved = [each for path, those in by_list.items() if _is_another_order(recorded, path, those) for each in those]
    return [each for each in rows if each not in moved]


def _is_another_order(recorded: Any, path: str, rows: list[dict[str, Any]]) -> bool:
    """Whether the order of entries explains all these differences. `path` is that of the metadata that has them."""
    label, _, rest = path.removeprefix("[").partition("]")
    try:
        want = _at(recorded[label], [*rest.split("/")[1:], "managedFields"])
        got = copy.deepcopy(want)
        for each in rows:
            *way, last = each["path"].partition(MANAGED)[2].split("/")
            place = _at(got, way)
            if each["got"] == "<absent>":
                del place[last]
            else:
                place[last] = each["got"]
    except (LookupError, TypeError, ValueError):  # an entry more, or a name with a slash
        return False
    return sorted(map(_sorted, got)) == sorted(map(_sorted, want))


def _shows_another_order(want: Any, got: Any) -> bool:
    """Whether two messages differ only in the order of the entries of a quoted object."""
    if not (isinstance(want, str) and isinstance(got, str) and "managedFields" in want):
        return False
    try:
        return _in_one_order(want) == _in_one_order(got)
    except (LookupError, TypeError, ValueError):  # the object is not complete, or has no entries
        return False


def _in_one_order(message: str) -> tuple[str, str, str]:
    """The object in a message, with sorted entries, and the texts before and after it."""
    start = message.index('"{')
    shown, end = json.JSONDecoder().raw_decode(message, start)
    obj = json.loads(shown)
    obj["metadata"]["managedFields"].sort(key=_sorted)
    return message[:start], json.dumps(obj), message[end:]


def _at(value: Any, way: list[str]) -> Any:
    for name in way:
        value = value[int(name)] if isinstance(value, list) else value[name]
    return value


def _sorted(entry: Any) -> str:
    return json.dumps(entry, sort_keys=True)


def step_of(difference: dict[str, Any]) -> str:
    """The label of the step that a difference is in."""
    label: str = difference["path"].partition("]")[0]
    return label.removeprefix("[")


def unexpected_of(report: Report, expected: dict[str, Exemption]) -> Report:
    """The differences that are not expected, by scenario."""
    found = {}
    for name, rows in sorted(report.items()):
        known = expected[name].steps if name in expected else frozenset()
        if strange := [each for each in rows if step_of(each) not in known]:
            found[name] = strange
    return found


def shown(name: str, differences: list[dict[str, Any]]) -> None:
    """Prints differences of a scenario."""
    for each in differences[:6]:
        want, got = (json.dumps(each[side])[:600] for side in ("want", "got"))
        print(f"{name} {each['path']}\n    want {want}\n    got  {got}")
    if len(differences) > 6:
        print(f"    ({len(differences) - 6} more differences in {name})")


def verdict(report: Report, expected: dict[str, Exemption], topics: set[str]) -> int:
    """Prints the unexpected differences. Returns the exit status."""
    unexpected = unexpected_of(report, expected)
    for name, strange in unexpected.items():
        print(f"UNEXPECTED: {name}")
        shown(name, strange)
    for name, exemption in sorted(expected.items()):
        differing = {step_of(each) for each in report.get(name, [])}
        if name.partition("/")[0] in topics and (mended := exemption.steps - differing):
            print(f"{name} [{'; '.join(sorted(mended))}] is as recorded now: take it off the list")
    same = sum(not rows for rows in report.values())
    print(f"conformance: {same} of {len(report)} scenarios as recorded, {len(unexpected)} differ unexpectedly")
    return 1 if unexpected else 0
